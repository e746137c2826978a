# old_root.sh - for scripts that build on Debian 11, for glibc 2.31: . packaging/old_root.sh
#
# Needs the variables tmp and out, folders. old_root PACKAGE... makes a root in $tmp/root, with Meson of Debian 12 and the last
# commit in /glock. in_root COMMAND runs a shell there, with its output in $out/log. fetch SUITE PACKAGE unpacks a package of
# another suite into $tmp/SUITE.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')

fetch() {
	package=$2
	mkdir -p "$tmp/$1" "$tmp/apt/lists/partial" "$tmp/apt/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$tmp/apt/sources"
	cd "$tmp/$1"
	set -- -q -o "Dir::Etc::sourcelist=$tmp/apt/sources" -o Dir::Etc::sourceparts=/dev/null \
		-o "Dir::State::Lists=$tmp/apt/lists" -o "Dir::Cache=$tmp/apt" -o APT::Sandbox::User=root \
		-o 'Acquire::Check-Valid-Until=false'
	{ apt-get "$@" update && apt-get "$@" download "$package"; } >"$out/apt.log" 2>&1
	dpkg -x "$package"_*.deb .
	cd - >/dev/null
}

old_root() {
	mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,ninja-build,pkg-config,python3-distutils,"$1" bullseye "$tmp/root" "$mirror"
	for package in meson python3-setuptools python3-pkg-resources; do
		fetch bookworm $package
	done
	cp -r "$tmp/bookworm/usr" "$tmp/root/"
	mkdir "$tmp/root/glock"
	git archive HEAD | tar -xf - -C "$tmp/root/glock"
}

in_root() {
	chroot "$tmp/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		"SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)" sh -ec "cd /glock; $1" >"$out/log" 2>&1 || {
		tail -n 40 "$out/log" >&2
		exit 1
	}
}
