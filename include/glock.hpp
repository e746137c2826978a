/* SPDX-License-Identifier: MIT */
/*
 * glock.hpp - libglock for C++11: spaces, and holders for std::unique_lock and std::shared_lock.
 *
 *	glocks::space shop("shop");
 *	glocks::holder lock(shop, 42);
 *	std::unique_lock<glocks::holder> guard(lock); // no other process has lock 42 now
 *
 * A holder is one request, so each thread has its own holders, also for one number. The thread that
 * locks a holder unlocks it. With GLOCK_NOPID in the flags any thread may. glock.h is the manual
 * of the functions. The constructors, lock() and the tries throw std::system_error with the errno.
 */
#ifndef GLOCK_HPP
#define GLOCK_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <system_error>

#include "glock.h"

namespace glocks /* glock is a struct */
{

inline void check(int err, const char *what)
{
	if (err)
		throw std::system_error(-err, std::generic_category(), what);
}

/* A space, open until the end of the object. Call close() to learn whether dirty data was lost. */
class space
{
	struct glock_space *space_ = nullptr;

      public:
	explicit space(const std::string &name, const struct glock_space_options *options = nullptr)
	{
		check(glock_space_open(name.c_str(), options, &space_), "glock_space_open");
	}
	space(const space &) = delete;
	space &operator=(const space &) = delete;
	~space()
	{
		if (space_)
			(void)glock_space_close(space_);
	}
	void close()
	{
		int err = space_ ? glock_space_close(space_) : 0;

		if (!err || err == -EIO)
			space_ = nullptr;
		check(err, "glock_space_close");
	}
	struct glock_space *get() const noexcept
	{
		return space_;
	}
};

/* A request for one lock. It stays at its address, and ends before its space. */
class holder
{
	struct glock *gl_ = nullptr;
	struct glock_holder gh_ = GLOCK_HOLDER_NONE;
	enum glock_mode mode_;
	unsigned int flags_;
	bool asked_ = false;

	int ask(unsigned int flags)
	{
		if (asked_)
			return -EDEADLK;
		glock_holder_init(&gh_, gl_, mode_, flags_ | flags);
		int err = glock_nq(&gh_);
		asked_ = !err;
		return err;
	}

	bool attempt(unsigned int flag, bool *late)
	{
		int err = ask(flag);

		if (late)
			*late = err == -EAGAIN;
		check(err == -EAGAIN || err == -EBUSY ? 0 : err, "glock_nq");
		return !err;
	}

      public:
	holder(const space &in, std::uint64_t number, enum glock_mode mode = GLOCK_EX,
	       unsigned int type = GLOCK_INODE, unsigned int flags = 0)
	    : mode_(mode), flags_(flags)
	{
		check(glock_get(in.get(), type, number, &gl_), "glock_get");
	}
	holder(const holder &) = delete;
	holder &operator=(const holder &) = delete;
	~holder()
	{
		unlock();
		glock_put(gl_);
	}
	void lock()
	{
		check(ask(0), "glock_nq");
	}
	/* *late: no user of the lock is known, but the lock did not come in time. See GLOCK_TRY. */
	bool try_lock(bool *late = nullptr)
	{
		return attempt(GLOCK_TRY, late);
	}
	/* Makes no request: true only if this node has the lock cached. See GLOCK_TRY_CACHED. */
	bool try_lock_cached()
	{
		return attempt(GLOCK_TRY_CACHED, nullptr);
	}
	template <class Clock, class Length>
	bool try_lock_until(const std::chrono::time_point<Clock, Length> &end)
	{
		return try_lock_for(end - Clock::now());
	}
	/* Takes the request back at the end of the time. */
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		using namespace std::chrono;
		auto end =
		    steady_clock::now() + duration_cast<nanoseconds>(time); // CLOCK_MONOTONIC
		int err = ask(GLOCK_ASYNC);

		if (!err)
			err = glock_wait(&gh_, end.time_since_epoch().count(), 0);
		if (err)
			unlock();
		check(err == -ETIMEDOUT ? 0 : err, "glock_wait");
		return !err;
	}
	/* Does not throw, because destructors call this. The log of the space tells a mistake. */
	void unlock() noexcept
	{
		if (asked_ &&
		    glock_dq(&gh_) != -EPERM) // -EPERM: another thread has it, and keeps it
			asked_ = false;
	}

	/* This use is in vain, such as a look at an empty queue. See glock_holder_idle(). */
	void idle() noexcept
	{
		glock_holder_idle(&gh_);
	}

	/* For std::shared_lock. The mode of the holder decides: give GLOCK_SH. */
	void lock_shared()
	{
		lock();
	}
	bool try_lock_shared()
	{
		return try_lock();
	}
	void unlock_shared() noexcept
	{
		unlock();
	}

	struct glock_holder *get() noexcept
	{
		return &gh_;
	}
};

/* Holds the lock from its beginning to its end: glocks::guard guard(shop, 42); */
class guard : public holder
{
      public:
	template <class... Arguments>
	explicit guard(Arguments &&...arguments) : holder(arguments...)
	{
		lock();
	}
};

/*
 * An operation of a type that returns an error in place of an exception: the errno of a
 * std::system_error, ENOMEM of a std::bad_alloc, else EIO.
 *
 *	ops.instantiate = glocks::catching<int (*)(glock_holder *), read_in>::call;
 */
template <class Function, Function function> struct catching;
template <class... Arguments, int (*function)(Arguments...)>
struct catching<int (*)(Arguments...), function> {
	static int call(Arguments... arguments)
	{
		try {
			return function(arguments...);
		} catch (const std::system_error &e) {
			return e.code().value() > 0 ? -e.code().value() : -EIO;
		} catch (const std::bad_alloc &) {
			return -ENOMEM;
		} catch (const std::exception &) {
			return -EIO;
		}
	}
};

} // namespace glocks

#endif
