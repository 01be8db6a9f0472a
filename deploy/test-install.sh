#!/bin/bash
# Installs the files of a release in new root file systems, runs quorumbench there, opens man pages,
# completes a command line, and uninstalls quorumbench again. `make test-release` runs this script.
#
#   deploy/test-install.sh DIST CACHE
#
# DIST is the folder with the files of the release, and CACHE the folder for Debian's root file
# system. Each kind of package is installed in its own namespaces, in an overlay over that file
# system. So the overlay's upper folder contains every file that an installation has left.
set -euo pipefail

if [ "$(id -u)" != 0 ]; then
	echo "This test needs root, because only root can create root file systems and namespaces. Run it with sudo." >&2
	exit 1
fi
dist=$(realpath "$1") cache=$(realpath -m "$2")
arch=$(dpkg --print-architecture)
base=quorumbench_linux_$arch
[ -f "$dist/$base.tar.gz" ] || { echo "$dist has no release for linux/$arch; run: make release"; exit 1; }
[ -f "$dist/$base.deb" ] || { echo "$dist has no packages for linux/$arch; run: make release"; exit 1; }
work=$(mktemp -d)
containerd=
cleanup() {
	[ -z "$containerd" ] || kill "$containerd" 2>/dev/null || true
	[ -z "$containerd" ] || wait "$containerd" || true
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT

# install_missing PROGRAM PACKAGE...: installs Debian packages if a program is missing.
install_missing() {
	command -v "$1" >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends "${@:2}"; } >"$work/apt" 2>&1 ||
		{ cat "$work/apt"; return 1; }
}

# The root file system: Debian with man, bash-completion and rpm, and nothing else.
rootfs=$cache/rootfs-bookworm-1
if [ ! -d "$rootfs" ]; then
	install_missing debootstrap debootstrap
	mkdir -p "$cache"
	new=$(mktemp -d "$cache/rootfs.XXXXXX")
	debootstrap --variant=minbase --include=man-db,bash-completion,rpm bookworm "$new" >"$work/debootstrap" 2>&1 ||
		{ tail "$work/debootstrap"; rm -rf --one-file-system "$new"; exit 1; }
	rm -f "$new"/var/cache/apt/archives/*.deb
	chroot "$new" useradd --create-home tester
	chmod 755 "$new"
	mv "$new" "$rootfs"
fi

# Checks an installation of any kind.
cat >"$work/common" <<'EOF'
set -euo pipefail
export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
use() {
	quorumbench version | tee /tmp/version
	grep -q '^  commit ' /tmp/version && grep -q '^  date ' /tmp/version
	# The first command of the README, as a user without special rights.
	began=$SECONDS
	su - tester -c "quorumbench run $RUN_FLAGS" >/tmp/out 2>/tmp/err || { tail -20 /tmp/out /tmp/err; exit 1; }
	grep -q '^quick: complete, 7 trials$' /tmp/out
	grep -q '^put-leader ' /tmp/out
	echo "run: complete after $((SECONDS - began)) s"
	MANPAGER=cat man quorumbench >/tmp/page
	grep -q 'Benchmark distributed' /tmp/page
	MANPAGER=cat man quorumbench-run | grep -q -- '--set KEY=VALUE'
	echo "man: quorumbench(1) opens"
	# A user types the command into an interactive shell and presses Tab after "dura".
	printf 'source /usr/share/bash-completion/bash_completion\nquorumbench run --dry-run --set dura\t7s >/tmp/plan\nexit\n' |
		TERM=dumb HISTFILE= script -qec 'bash --norc -i' /dev/null >/tmp/shell
	grep -q 'duration=7s' /tmp/shell && grep -q '7s' /tmp/plan || { cat /tmp/shell; exit 1; }
	echo "completion: Tab after \"--set dura\" makes it duration="
	rm -rf /home/tester/runs /home/tester/.cache
}
EOF

# in_root NAME SCRIPT: executes a script in a new root file system, and lists what it has left.
in_root() {
	local name=$1 began=$SECONDS
	mkdir -p "$work/$name"/{upper,temporary,root}
	{ cat "$work/common"; echo "$2"; } >"$work/script"
	unshare --mount --pid --fork --kill-child bash -euc '
		root=$1/root
		mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/temporary" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/mnt"
		mkdir "$root/mnt/dist" && mount --bind -o ro "$3" "$root/mnt/dist"
		cp "$4" "$root/mnt/script"
		chroot "$root" /usr/bin/env -i BASE="$5" RUN_FLAGS="$6" bash /mnt/script
	' - "$work/$name" "$rootfs" "$dist" "$work/script" "$base" "$RUN_FLAGS"
	# The package managers keep databases and logs, and man keeps an index.
	(
		cd "$work/$name/upper"
		find . ! -type d ! -path './var/lib/dpkg/*' ! -path './var/lib/rpm/*' ! -path './usr/lib/sysimage/rpm/*' ! -path './var/log/*' \
			! -path './var/cache/*' ! -path './tmp/*' ! -path './root/.rpmdb/*'
		find . -type d -name '*quorumbench*'
	) >"$work/left"
	if [ -s "$work/left" ]; then
		echo "FAIL $name: these files are left:" && cat "$work/left"
		return 1
	fi
	echo "PASS $name: installed, used and removed in $((SECONDS - began)) s"
}

# The deb runs the whole first command; the others run shorter loads.
RUN_FLAGS=${RUN_FLAGS:-}
in_root deb '
	began=$SECONDS
	dpkg -i "/mnt/dist/$BASE.deb"
	use
	echo "from installation to the first table and back: $((SECONDS - began)) s"
	dpkg --purge quorumbench
	test ! -e /usr/bin/quorumbench'
RUN_FLAGS='--set duration=1s --set warmup=0s'
in_root rpm '
	rpm --install --nodeps "/mnt/dist/$BASE.rpm"
	use
	rpm --erase quorumbench
	test ! -e /usr/bin/quorumbench'
in_root tar.gz '
	(cd /mnt/dist && sha256sum --quiet --check --ignore-missing SHA256SUMS)
	cd /tmp && tar -xzf "/mnt/dist/$BASE.tar.gz" && cd "$BASE"
	test -f LICENSE && test -f THIRD-PARTY-LICENSES
	mkdir -p /usr/local/share/man/man1 /usr/local/share/bash-completion/completions
	install -m 755 quorumbench /usr/local/bin/
	cp man/*.1 /usr/local/share/man/man1/
	cp completions/quorumbench.bash /usr/local/share/bash-completion/completions/quorumbench
	use
	rm -rf /usr/local/bin/quorumbench /usr/local/share/man/man1/quorumbench* /usr/local/share/bash-completion /tmp/"$BASE"'

# The image, with containerd and runc.
install_missing containerd containerd runc
install_missing runc runc
image=$dist/quorumbench_image.tar
mkdir -p "$work/containerd"
containerd --root "$work/containerd/root" --state "$work/containerd/state" --address "$work/containerd/socket" >"$work/containerd/log" 2>&1 &
containerd=$!
ctr() { command ctr --address "$work/containerd/socket" "$@"; }
for _ in $(seq 100); do
	ctr version >/dev/null 2>&1 && break
	sleep 0.1
done
began=$SECONDS
name=$(ctr images import --platform "linux/$arch" "$image" | sed -n 's/^unpacking \([^ ]*\).*/\1/p')
ctr run --rm --net-host "$name" quorumbench-version /quorumbench version
# shellcheck disable=SC2086
ctr run --rm --net-host "$name" quorumbench-run /quorumbench run $RUN_FLAGS >"$work/out" 2>"$work/err" || { tail -20 "$work/out" "$work/err"; exit 1; }
grep -q '^quick: complete, 7 trials$' "$work/out"
ctr images rm "$name" >/dev/null
[ -z "$(ctr images ls -q)$(ctr containers ls -q)" ]
echo "PASS image: imported, run as user 65532 and removed in $((SECONDS - began)) s"
