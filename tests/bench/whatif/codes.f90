! SPDX-License-Identifier: GPL-3.0-or-later
! The loops of codes.c that are in Fortran.

! a step of elimination
subroutine f_update(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(n), c(m)
  integer(c_int64_t) :: i, j
  do j = 1, m
    do i = 1, n
      a(i, j) = a(i, j) - b(i) * c(j)
    end do
  end do
end subroutine

! products with rows, which are far apart in memory
subroutine f_reduce(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(m), c(n), s
  integer(c_int64_t) :: i, j
  do i = 1, n
    s = 0
    do j = 1, m
      s = s + a(i, j) * b(j)
    end do
    c(i) = s
  end do
end subroutine

subroutine f_reduce4(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(m), c(n), s1, s2, s3, s4
  integer(c_int64_t) :: i, j
  do i = 1, n
    s1 = 0; s2 = 0; s3 = 0; s4 = 0
    do j = 1, m - 3, 4
      s1 = s1 + a(i, j) * b(j)
      s2 = s2 + a(i, j + 1) * b(j + 1)
      s3 = s3 + a(i, j + 2) * b(j + 2)
      s4 = s4 + a(i, j + 3) * b(j + 3)
    end do
    c(i) = s1 + s2 + s3 + s4
  end do
end subroutine

! the black half of a relaxation
subroutine f_black(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(n, m), c(n)
  integer(c_int64_t) :: i, j
  do j = 2, m - 1
    do i = 2 + mod(j, 2_c_int64_t), n - 1, 2
      a(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1) - b(i, j))
    end do
  end do
end subroutine

! the way back of a system with two diagonals
subroutine f_back(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n), b(n), c(n)
  integer(c_int64_t) :: i
  do i = n - 1, 1, -1
    a(i) = b(i) - 0.3d0 * a(i + 1)
  end do
end subroutine

! differences of a gas's flux, with its pressure and speed
subroutine f_flux(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n), b(n), c(n)
  integer(c_int64_t) :: i
  do i = 2, n - 1
    c(i) = b(i) * b(i) / a(i) - b(i - 1) * b(i - 1) / a(i - 1) + 0.4d0 * (a(i + 1) - a(i - 1))
  end do
end subroutine

subroutine f_flux_cheap(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n), b(n), c(n)
  integer(c_int64_t) :: i
  do i = 2, n - 1
    c(i) = b(i) * b(i) * a(i) - b(i - 1) * b(i - 1) * a(i - 1) + 0.4d0 * (a(i + 1) - a(i - 1))
  end do
end subroutine
