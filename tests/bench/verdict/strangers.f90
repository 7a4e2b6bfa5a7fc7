! SPDX-License-Identifier: GPL-3.0-or-later
! Loops of Fortran programs whose limit is known by construction (strangers.py); PROGRAM NAME [K] as in harness.h.
module loops
  use iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: wp = real64
  real(wp), allocatable :: a(:), b(:), c(:), d(:), u(:, :), v(:, :)
  real(wp) :: sink
contains
  subroutine sums(k)
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i
    real(wp) :: s
    s = 0
    do r = 1, k, size(a)
      do i = 1, size(a)
        s = s + a(i)*b(i)
      end do
    end do
    sink = s
  end subroutine
  subroutine daxpy(k)
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i
    do r = 1, k, size(a)
      do i = 1, size(a)
        b(i) = b(i) + 1.5_wp*a(i)
      end do
      sink = b(3)
    end do
  end subroutine
  subroutine wrong_order(k) ! the inner loop goes along a row
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i, j
    do r = 1, k, size(u)
      do i = 2, size(u, 1) - 1
        do j = 2, size(u, 2) - 1
          v(i, j) = 0.25_wp*(u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
        end do
      end do
      sink = v(3, 3)
    end do
  end subroutine
  subroutine right_order(k)
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i, j
    do r = 1, k, size(u)
      do j = 2, size(u, 2) - 1
        do i = 2, size(u, 1) - 1
          v(i, j) = 0.25_wp*(u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
        end do
      end do
      sink = v(3, 3)
    end do
  end subroutine
  subroutine thomas(k) ! forward elimination of a tridiagonal system
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i
    do r = 1, k, size(a)
      do i = 2, size(a)
        d(i) = c(i)/(b(i) - a(i)*d(i - 1))
      end do
    end do
    sink = d(5)
  end subroutine
  subroutine roots(k)
    integer(int64), intent(in) :: k
    integer(int64) :: r
    integer :: i
    do r = 1, k, size(a)
      do i = 1, size(a)
        d(i) = sqrt(a(i)*a(i) + b(i)*b(i))
      end do
      sink = d(5)
    end do
  end subroutine
  subroutine set(n)
    integer, intent(in) :: n
    allocate (a(n), b(n), c(n), d(n))
    a = 0.5_wp
    b = 2
    c = 1
    d = 1
  end subroutine
  subroutine set2(n)
    integer, intent(in) :: n
    allocate (u(n, n), v(n, n))
    u = 1
    v = 1
  end subroutine
end module

program strangers
  use loops
  implicit none
  character(32) :: name, text
  integer(int64) :: k, t0, t1, rate
  real(wp) :: seconds, wanted, begin, end
  call get_command_argument(1, name)
  call get_command_argument(2, text)
  wanted = 0.5
  select case (name)
  case ('f_daxpy_dram')
    call set(8*1024*1024)
    wanted = 1.5
  case ('f_wrong_order', 'f_right_order')
    call set2(2048)
    wanted = 1.5
  case default
    call set(512)
  end select
  if (text /= '') then
    read (text, *) k
    call cpu_time(begin)
    call run(k)
    call cpu_time(end)
    print '(f0.6)', end - begin
  else
    k = 1024
    seconds = 0
    do while (seconds < 0.05)
      k = 2*k
      call system_clock(t0, rate)
      call run(k)
      call system_clock(t1)
      seconds = real(t1 - t0, wp)/real(rate, wp)
    end do
    print '(i0)', int(real(k, wp)*wanted/seconds, int64)
  end if
contains
  subroutine run(k)
    integer(int64), intent(in) :: k
    select case (name)
    case ('f_sums')
      call sums(k)
    case ('f_daxpy_l1', 'f_daxpy_dram')
      call daxpy(k)
    case ('f_wrong_order')
      call wrong_order(k)
    case ('f_right_order')
      call right_order(k)
    case ('f_thomas')
      call thomas(k)
    case ('f_roots')
      call roots(k)
    end select
  end subroutine
end program
