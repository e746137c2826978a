#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# dashboard.py - tests contrib/grafana-o2top.json with made data, through the programs it needs.
#
# Usage: dashboard.py BUILD_DIR [--types]
#
# o2top replays recordings into a textfile. The programs are node_exporter and prometheus.
# node_exporter reads the textfile and prometheus scrapes node_exporter, both on loopback. The test
# asks every query of every panel as Grafana does. Each query must give the series and the values of
# the textfile. The test needs prometheus and prometheus-node-exporter. With --types it also checks
# the dashboard against Grafana's own types, by npm and the network.

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
BOARD = os.path.join(HERE, "..", "..", "contrib", "grafana-o2top.json")
PATIENCE = 60
SCRAPE = 1
TYPES = "node_modules/@grafana/schema/dist/esm/raw"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def samples(text):
    """Returns [(name, labels, value)] of a textfile."""
    found = []
    for line in text.splitlines():
        m = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if m and not line.startswith("#"):
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or "")
            found.append((m[1], {k: re.sub(r"\\(.)", r"\1", v) for k, v in pairs}, float(m[3])))
    return found


class Monitoring:
    """node_exporter and prometheus."""

    def __init__(self, folder):
        exporter, self.port = free_port(), free_port()
        self.instance = f"127.0.0.1:{exporter}"
        self.file = f"{folder}/textfiles/o2top.prom"
        os.mkdir(f"{folder}/textfiles")
        with open(f"{folder}/prometheus.yml", "w") as f:
            f.write(f"global: {{scrape_interval: {SCRAPE}s}}\n"
                    f"scrape_configs:\n- job_name: node\n  static_configs: [{{targets: ['{self.instance}']}}]\n")
        self.log = open(f"{folder}/log", "w")
        self.children = [
            self.start("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                       f"--collector.textfile.directory={folder}/textfiles", f"--web.listen-address={self.instance}"),
            self.start("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/db",
                       f"--web.listen-address=127.0.0.1:{self.port}")]

    def start(self, *command):
        return subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def get(self, what, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def wait_for(self, stamp):
        """Waits until prometheus has scraped the textfile with this time in it."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                found = self.get("query", query="o2top_sample_timestamp_seconds")["result"]
                if found and float(found[0]["value"][1]) == stamp:
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise RuntimeError("prometheus does not know the textfile")

    def end(self):
        for child in self.children:
            child.send_signal(signal.SIGTERM)
        for child in self.children:
            child.wait()


# ---- the answer to each query --------------------------------------------------------------------


def of(metric):
    return lambda has: {tuple(sorted(labels.items())): v for name, labels, v in has if name == metric}


def folded(how, metric):
    return lambda has: {(): how(of(metric)(has).values())}


def worst(n, metric):
    return lambda has: dict(sorted(of(metric)(has).items(), key=lambda series: -series[1])[:n])


def age_of_data(has):
    return {(): time.time() - of("o2top_sample_timestamp_seconds")(has)[()]}


def nodes_not_well(has):
    return {(): sum(v for labels, v in of("o2top_nodes")(has).items() if labels != (("state", "ok"),))}


def per_second(n):
    """Time lost of the worst files. The length of the frame is missing if it is not known."""
    def wanted(has):
        frame = of("o2top_frame_seconds")(has)[()]
        return {labels: v / frame for labels, v in worst(n, "o2top_file_lost_seconds")(has).items()}
    return wanted


def rate(metric, *labels):
    """The sums of a counter by these labels. Only the sign of Prometheus's rate is checked. The
    counter has grown from the first textfile to the second."""
    def wanted(has):
        found = {}
        for series, v in of(metric)(has).items():
            key = tuple(sorted((k, v) for k, v in series if k in labels))
            found[key] = found.get(key, 0) + v
        return found
    wanted.is_rate = True
    return wanted


def any_length(has):
    return {(): 0}


any_length.is_rate = True


def if_known(wanted):
    """A longest wait that is an estimate has no line. Then the query gives nothing."""
    def found(has):
        try:
            return wanted(has)
        except ValueError:  # the greatest of nothing
            return {}
    found.may_lack = True
    return found


# by title and legend; a query that is missing here fails
WANTED = {
    ("Time lost", ""): rate("o2top_lost_seconds_total"),
    ("Waiting now", ""): folded(sum, "o2top_waiting"),
    ("Oldest wait", ""): folded(max, "o2top_oldest_wait_seconds"),
    ("Nodes not well", ""): nodes_not_well,
    ("Time lost by node", "{{node}}"): rate("o2top_lost_seconds_total", "node"),
    ("Waits", "oldest in progress"): folded(max, "o2top_oldest_wait_seconds"),
    ("Waits", "longest of the frame"): if_known(folded(max, "o2top_longest_wait_seconds")),
    ("Waits", "ended waits of known length, 90 % are shorter"): any_length,
    ("Hot files", "{{file}}"): per_second(10),
    ("The worst now", "A"): per_second(20),
    ("The worst now", "B"): of("o2top_file_waiting"),
    ("The worst now", "C"): of("o2top_file_oldest_wait_seconds"),
    ("The worst now", "D"): if_known(of("o2top_file_longest_wait_seconds")),
    ("Locks in memory", "locks"): folded(sum, "o2top_locks"),
    ("Locks taken", "per second"): rate("o2top_acquired_total"),
    ("o2top itself", "age of the data"): age_of_data,
    ("o2top itself", "frame"): folded(max, "o2top_frame_seconds"),
    ("o2top itself", "problems"): folded(sum, "o2top_problems"),
}


RETURNED = set()  # the keys of WANTED whose query returned data


def answer_of(result):
    """Returns {labels: value} without the labels that prometheus adds. Of a range, takes the last
    value."""
    found = {}
    for series in result:
        labels = {k: v for k, v in series["metric"].items() if k not in ("__name__", "instance", "job")}
        value = series["values"][-1] if "values" in series else series["value"]
        found[tuple(sorted(labels.items()))] = float(value[1])
    return found


def compare(what, got, wanted, slack, is_rate):
    assert got.keys() == wanted.keys(), (what, got.keys() ^ wanted.keys())
    for labels, value in wanted.items():
        if is_rate:
            assert not got[labels] < 0 and (not value or got[labels] > 0), (what, labels, got[labels], value)
            continue
        assert math.isclose(got[labels], value, rel_tol=1e-9, abs_tol=slack), (what, labels, got[labels], value)


def ask(monitoring, panel, target, has, instance):
    key = target.get("legendFormat") or (target["refId"] if panel["type"] == "table" else "")
    wanted = WANTED[panel["title"], key]
    query = target["expr"].replace("$instance", instance).replace("$__rate_interval", f"{20 * SCRAPE}s")
    is_rate = getattr(wanted, "is_rate", False)
    assert "$" not in query, query
    slack = PATIENCE if wanted is age_of_data else 0
    now = time.time()
    if wanted(has):
        RETURNED.add((panel["title"], key))
    assert wanted(has) or hasattr(wanted, "may_lack"), f"{panel['title']}, {key}: the textfile has nothing of it"
    got = {"query": monitoring.get("query", query=query)}
    if not target.get("instant"):
        got["query_range"] = monitoring.get("query_range", query=query, start=now - 60, end=now, step=SCRAPE)
    for how, data in got.items():
        # a range holds older series, too, and only present ones count
        now_there = [s for s in data["result"] if "value" in s or s["values"][-1][0] > now - SCRAPE / 2]
        compare(f"{panel['title']}, {key}, {how}", answer_of(now_there), wanted(has), slack, is_rate)
    return len(got)


def write(monitoring, *command):
    subprocess.run([command[0], "--textfile", monitoring.file, *command[1:]], check=True)
    with open(monitoring.file) as f:
        return f.read()


def try_recording(board, monitoring, o2top, recording, names):
    # a counter that grows: the first frame, then all
    text = write(monitoring, o2top, "-i", "1", "--names", names, recording)
    monitoring.wait_for(of("o2top_sample_timestamp_seconds")(samples(text))[()])
    time.sleep(2 * SCRAPE)
    text = write(monitoring, o2top, "--names", names, recording)
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert not lint.returncode or "error while linting" not in lint.stderr, lint.stderr
    has = samples(text)
    monitoring.wait_for(of("o2top_sample_timestamp_seconds")(has)[()])
    time.sleep(2 * SCRAPE)  # the rate of a new series needs two samples
    asked = 0
    for panel in board["panels"]:
        for target in panel["targets"]:
            # all instances, then only this one
            for instance in (".*", re.escape(monitoring.instance).replace("\\", "\\\\")):
                asked += ask(monitoring, panel, target, has, instance)
    print(f"{os.path.basename(recording)}: {asked} questions, {len(has)} samples: as expected", flush=True)


def try_variables(board, monitoring):
    for variable in board["templating"]["list"]:
        if variable["type"] != "query":
            continue
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
        assert monitoring.get(f"label/{label}/values", **{"match[]": metric}) == [monitoring.instance]


# ---- Grafana's types -----------------------------------------------------------------------------


def check_types(text, folder):
    """A word in the JSON must be a member of an enumeration of these types."""
    text = re.sub(r'"mode": "absolute"', '"mode": ThresholdsMode.Absolute', text)
    lines = [f'import {{ type Dashboard, ThresholdsMode }} from "./{TYPES}/dashboard/x/dashboard_types.gen";',
             f"export const board: Dashboard = {text};"]
    subprocess.run(["npm", "init", "-y"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "@grafana/schema@11", "typescript@5"],
                   cwd=folder, stdout=subprocess.DEVNULL, check=True)
    with open(f"{folder}/board.ts", "w") as f:
        f.write("\n".join(lines))
    subprocess.run(["node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "bundler",
                    "--module", "esnext", "--target", "es2020", "board.ts"], cwd=folder, check=True)
    print("the dashboard is what Grafana's types say", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: dashboard.py BUILD_DIR [--types]")
    o2top = os.path.abspath(f"{sys.argv[1]}/o2top")
    with open(BOARD) as f:
        text = f.read()
    board = json.loads(text)
    with tempfile.TemporaryDirectory(prefix="o2top-dashboard-") as folder:
        monitoring = Monitoring(folder)
        try:
            for recording in ("ocfs2-hot", "gfs2-hot", "ocfs2-hang", "gfs2-hang"):
                with tarfile.open(f"{DATA}/{recording}.tar.xz") as tar:
                    tar.extractall(folder)
                try_recording(board, monitoring, o2top, f"{folder}/{recording}", f"{DATA}/{recording}.names")
            try_variables(board, monitoring)
            assert RETURNED == WANTED.keys(), WANTED.keys() - RETURNED
            print(f"each of the {len(RETURNED)} queries returned data", flush=True)
        finally:
            monitoring.end()
        if "--types" in sys.argv[2:]:
            check_types(text, folder)


if __name__ == "__main__":
    main()
