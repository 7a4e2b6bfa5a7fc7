! SPDX-License-Identifier: GPL-3.0-or-later
! The loops of tasks.c that are in Fortran.

subroutine task_smooth(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n)
  integer(c_int64_t) :: i
  do i = 3, n - 2
    b(i) = 0.4d0 * a(i) + 0.2d0 * (a(i - 1) + a(i + 1)) + 0.1d0 * (a(i - 2) + a(i + 2))
  end do
end subroutine

! the way forward of a system with three diagonals
subroutine task_thomas(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), last
  integer(c_int64_t) :: i
  last = 0.3d0
  do i = 1, n
    last = b(i) / (4d0 + a(i) - a(i) * last)
    c(i) = last
  end do
end subroutine

subroutine task_thomas_cheap(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), last
  integer(c_int64_t) :: i
  last = 0.3d0
  do i = 1, n
    last = 0.05d0 * b(i) * (4d0 + a(i) - a(i) * last)
    c(i) = last
  end do
end subroutine

subroutine task_strided(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(8, n), b(n), c(n)
  integer(c_int64_t) :: i
  do i = 1, n
    b(i) = b(i) * 0.5d0 + a(3, i)
  end do
end subroutine

! a column of a product
subroutine task_matmul(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(256, n), c(256)
  integer(c_int64_t) :: i, j
  do j = 1, n
    do i = 1, 256
      c(i) = c(i) + b(i, j) * a(mod(j, 8) + 1)
    end do
  end do
end subroutine
