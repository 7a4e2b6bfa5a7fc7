! SPDX-License-Identifier: MIT
! Regions in Fortran. Build: gfortran example.f90 $(pkg-config --libs carm)
! Names end in c_null_char, as C wants them.
module carm
  use, intrinsic :: iso_c_binding, only: c_int, c_char, c_null_char
  implicit none
  interface
    function carm_region_begin(name) bind(c)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: carm_region_begin
    end function
    function carm_region_end(name) bind(c)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: carm_region_end
    end function
    function carm_region_flush() bind(c)
      import :: c_int
      integer(c_int) :: carm_region_flush
    end function
  end interface
end module

program region_example
  use carm
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), y(n)
  integer :: turn, ignored
  x = 1.0d0
  y = 2.0d0
  do turn = 1, 10
    ignored = carm_region_begin('axpy' // c_null_char)
    y = y + 1.5d0 * x
    ignored = carm_region_end('axpy' // c_null_char)
  end do
  if (y(n) /= 17.0d0) stop 1
end program
