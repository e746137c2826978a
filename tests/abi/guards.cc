/* SPDX-License-Identifier: MIT */
/* guards.cc - a program with glock.hpp: std::unique_lock, tries, threads, errors. Exits with 0. */
#include <cstdio>
#include <cstdlib>
#include <glock.hpp>
#include <thread>
#include <vector>

#define CHECK(condition)                                                             \
	do {                                                                         \
		if (!(condition)) {                                                  \
			std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			std::exit(1);                                                \
		}                                                                    \
	} while (0)

template <class Call> static int error_of(Call call)
{
	try {
		call();
	} catch (const std::system_error &e) {
		return e.code().value();
	}
	return 0;
}

static void count(glocks::space &shop)
{
	static int number;
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&shop] {
			glocks::holder lock(shop, 1);

			for (int k = 0; k < 1000; k++) {
				std::unique_lock<glocks::holder> guard(lock);
				number++;
			}
		});
	for (auto &t : threads)
		t.join();
	CHECK(number == 4000);
}

static void tries(glocks::space &shop)
{
	glocks::holder lock(shop, 2);
	std::unique_lock<glocks::holder> guard(lock);

	std::thread([&shop] {
		glocks::holder other(shop, 2);
		std::unique_lock<glocks::holder> late(other, std::chrono::milliseconds(20));

		CHECK(!late && !other.try_lock() && !other.try_lock_cached());
		CHECK(!other.try_lock_until(std::chrono::system_clock::now()));
		bool late_answer = true;
		CHECK(!other.try_lock(&late_answer) && !late_answer); // it is in use
	}).join();
	CHECK(error_of([&] { glocks::guard again(shop, 2); }) == EDEADLK);
	guard.unlock();
	CHECK(lock.try_lock_for(std::chrono::seconds(20)));
	CHECK(error_of([&] { lock.lock(); }) == EDEADLK && glock_valid(lock.get()));
	lock.unlock();
	CHECK(lock.try_lock_cached());
	lock.idle();
	std::thread([&lock] { lock.unlock(); }).join(); // not this thread's: nothing happens
	CHECK(glock_valid(lock.get()));
}

static void shares(glocks::space &shop)
{
	glocks::guard one(shop, 3, GLOCK_SH);

	std::thread([&shop] {
		glocks::holder two(shop, 3, GLOCK_SH);

		CHECK(two.try_lock_shared());
		two.unlock_shared();
	}).join();
	CHECK(glock_valid(one.get()));
}

static void moves(glocks::space &shop)
{
	glocks::holder lock(shop, 4, GLOCK_EX, GLOCK_NONDISK, GLOCK_NOPID);

	lock.lock();
	std::thread([&lock] { lock.unlock(); }).join();
	CHECK(!glock_valid(lock.get()));
	try {
		glocks::guard guard(shop, 4);
		throw 1;
	} catch (int) {
	}
	CHECK(lock.try_lock());
	std::lock_guard<glocks::holder> adopted(lock, std::adopt_lock);
}

int main()
{
	glocks::space shop("guards");

	count(shop);
	tries(shop);
	shares(shop);
	moves(shop);
	CHECK(error_of([&] { glocks::holder none(shop, 1, GLOCK_EX, 31); }) == EINVAL);
	CHECK(error_of([] { glocks::space none(""); }) == EINVAL);
	{
		glocks::holder referenced(shop, 1);
		CHECK(error_of([&] { shop.close(); }) == EBUSY);
	}
	shop.close();
	shop.close();
	std::puts("guards: good");
}
