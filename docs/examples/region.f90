! SPDX-License-Identifier: MIT
! A region in Fortran. The module is a source file, as compilers read no other one's .mod files:
!   gfortran -O2 $(pkg-config --variable=fortran carm) region.f90 $(pkg-config --libs carm) -o region
!   carm run --regions -- ./region
program region
  use carm
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), y(n)
  integer :: turn
  x = 1.0d0
  y = 2.0d0
  do turn = 1, 10
    call carm_begin('axpy')
    y = y + 1.5d0 * x
    call carm_end('axpy')
  end do
  print *, y(n)
end program
