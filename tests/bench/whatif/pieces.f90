! SPDX-License-Identifier: GPL-3.0-or-later
! The loops of pieces.c that are in Fortran.

! the way down of a tridiagonal system: each quotient waits for the one before
subroutine f_sweep(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), q
  integer(c_int64_t) :: i
  q = 0.1d0
  do i = 1, n
    q = a(i) / (b(i) + 2.0d0 - a(i) * q)
    c(i) = q
  end do
end subroutine

subroutine f_sweep_cheap(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), q
  integer(c_int64_t) :: i
  q = 0.1d0
  do i = 1, n
    q = a(i) * (b(i) + 2.0d0 - a(i) * q)
    c(i) = q
  end do
end subroutine

subroutine f_moments(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), s, t
  integer(c_int64_t) :: i
  s = 0
  t = 0
  do i = 1, n
    s = s + a(i)
    t = t + a(i) * a(i)
  end do
  c(1) = s
  b(1) = t
end subroutine

subroutine f_moments4(n, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n
  real(c_double) :: a(n), b(n), c(n), s1, s2, s3, s4, t1, t2, t3, t4
  integer(c_int64_t) :: i
  s1 = 0; s2 = 0; s3 = 0; s4 = 0
  t1 = 0; t2 = 0; t3 = 0; t4 = 0
  do i = 1, n - 3, 4
    s1 = s1 + a(i); t1 = t1 + a(i) * a(i)
    s2 = s2 + a(i + 1); t2 = t2 + a(i + 1) * a(i + 1)
    s3 = s3 + a(i + 2); t3 = t3 + a(i + 2) * a(i + 2)
    s4 = s4 + a(i + 3); t4 = t4 + a(i + 3) * a(i + 3)
  end do
  c(1) = s1 + s2 + s3 + s4
  b(1) = t1 + t2 + t3 + t4
end subroutine

! a step of advection against the wind, over n times n places
subroutine f_upwind(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(n, m), c(n, m)
  integer(c_int64_t) :: i, j
  do j = 2, m - 1
    do i = 2, n - 1
      c(i, j) = a(i, j) - max(b(i, j), 0.0d0) * (a(i, j) - a(i - 1, j)) - min(b(i, j), 0.0d0) * (a(i + 1, j) - a(i, j))
    end do
  end do
end subroutine

! c = a b by the columns of a
subroutine f_columns(n, m, a, b, c) bind(c)
  use iso_c_binding
  integer(c_int64_t), value :: n, m
  real(c_double) :: a(n, m), b(m), c(n)
  integer(c_int64_t) :: i, j
  do j = 1, m
    do i = 1, n
      c(i) = c(i) + a(i, j) * b(j)
    end do
  end do
end subroutine
