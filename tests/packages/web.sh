#!/bin/sh
# web.sh - runs the web frameworks that docs/sqlite.md names on the installed VFS, with Debian's packages. TAP.
#
# Usage: web.sh, in a fresh root with the sources: see ./run soak pages. Each server adds a row for each request, and
# glock ls must name the server. Needs root.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
command -v glock >/dev/null || {
	./run build >"$tap_log" 2>&1 && meson install -C build >>"$tap_log" 2>&1 && ldconfig
	result $? "the installation of README.md"
}
apt-get install -y --no-install-recommends gunicorn python3-flask python3-django python3-sqlalchemy php-fpm php-sqlite3 \
	libfcgi-bin rails ruby-sqlite3 puma curl >"$tap_log" 2>&1
result $? "Debian's packages of the servers"
cd "$tmp" || exit 1
GLOCK_DIR=$tmp/spaces
export GLOCK_DIR
mkdir "$GLOCK_DIR"

cat >app.py <<'PYTHON'
import sqlite3, flask
app = flask.Flask(__name__)
@app.route("/")
def count():
    db = sqlite3.connect("app.db", timeout=10)
    with db:
        db.execute("CREATE TABLE IF NOT EXISTS t(n)")
        db.execute("INSERT INTO t VALUES(1)")
    return str(db.execute("SELECT count(*) FROM t").fetchone()[0])
PYTHON
cat >engine.py <<'PYTHON'
import subprocess, sqlalchemy
engine = sqlalchemy.create_engine("sqlite:///app.db", connect_args={"timeout": 10})
with engine.begin() as db:
    print(db.execute(sqlalchemy.text("SELECT count(*) FROM t")).scalar())
    subprocess.run(["glock", "ls"])
PYTHON
cat >index.php <<PHP
<?php \$db = new SQLite3('$tmp/app.db'); \$db->busyTimeout(10000); echo \$db->querySingle('SELECT count(*) FROM t'), "\n"; passthru('glock ls');
PHP
cat >fpm.conf <<CONF
[global]
error_log = $tmp/fpm.log
[www]
user = root
group = root
listen = $tmp/fpm.sock
pm = static
pm.max_children = 2
env[GLOCK_DIR] = $GLOCK_DIR
CONF

# retry COMMAND...: until it works, because a server takes a while to start
retry() {
	for _ in $(seq 300); do
		"$@" >>"$tap_log" 2>&1 && return
		sleep 0.2
	done
	return 1
}

# serves COMMAND...: a server under glock sqlite answers, and glock ls names a process of it. $name is its name.
serves() {
	: >"$tap_log"
	"$@" >server.log 2>&1 &
	server=$!
	$ask && glock ls >>"$tap_log" && grep -q "^sqlite-.*$name" "$tap_log"
	status=$?
	cat server.log >>"$tap_log"
	kill $server
	wait $server
	return $status
}
ask="retry curl -sf http://127.0.0.1:8123/"
name=gunicorn
serves glock sqlite gunicorn -w 2 -b 127.0.0.1:8123 app:app
result $? "gunicorn"
name=flask
serves glock sqlite flask --app app run -p 8123
result $? "Flask"
glock sqlite python3 engine.py >"$tap_log" 2>&1 && grep -q '^sqlite-.*python3' "$tap_log"
result $? "SQLAlchemy"
django-admin startproject site1 . && glock sqlite python3 manage.py migrate >"$tap_log" 2>&1 &&
	glock sqlite python3 manage.py shell -c 'import subprocess; from django.contrib.auth.models import User
print(User.objects.count()); subprocess.run(["glock", "ls"])' >>"$tap_log" 2>&1 && grep -q '^sqlite-.*python3' "$tap_log"
result $? "Django"
rails new shop --minimal --skip-bundle --skip-git >"$tap_log" 2>&1 && cd shop && printf "gem 'rails'\ngem 'sqlite3'\ngem 'puma'\n" >Gemfile &&
	sed -i /EventedFileUpdateChecker/d config/environments/development.rb && bin/rails generate model Hit >>"$tap_log" 2>&1 &&
	glock sqlite bin/rails db:migrate >>"$tap_log" 2>&1
echo 'Rails.application.routes.draw { root to: proc { Hit.create!; [200, {}, [Hit.count.to_s]] } }' >config/routes.rb
name=ruby
serves glock sqlite bin/rails server -p 8123
result $? "Rails"
cd "$tmp" || exit 1
SCRIPT_FILENAME=$tmp/index.php REQUEST_METHOD=GET
export SCRIPT_FILENAME REQUEST_METHOD
ask="retry cgi-fcgi -bind -connect $tmp/fpm.sock"
name=php-fpm
serves glock sqlite "$(basename /usr/sbin/php-fpm*)" -R -F -y fpm.conf
result $? "PHP-FPM"
plan
