/** Environment by which the host tells the hook what the credential of this push may do. */
export const SCOPE_VARIABLE = 'SERVICE_GIT_SCOPE';
export const BRANCH_VARIABLE = 'SERVICE_GIT_REF';

/**
 * The `pre-receive` hook: the last word on what a scoped credential may push. POSIX sh, one `git log` for the whole
 * push, one awk: 200 commits cost little more than one.
 *
 * Accepted is exactly: one update of the served branch, a straight line of commits from the old tip, each with one
 * `Cluster-Id` trailer of the scope, each changing plain files inside that cluster's directory alone. Looking at every
 * commit, not at the sum, refuses one that leaves the directory and is undone by the next. Paths are lower-case but
 * for the README, so no push can bring in a name that another differs from by case alone, and none starts with a dot.
 *
 * It names each faulty commit (`refused: commit <id>: …`), at most one line each, so that a writer can drop those and
 * push the rest. Without a scope in the environment (an administrator pushing by file path) it stands aside.
 */
export const PRE_RECEIVE_HOOK = String.raw`#!/bin/sh
[ -n "$SERVICE_GIT_REF" ] || exit 0
refuse() { echo "refused: $1" >&2; exit 1; }
read -r old new ref || exit 0
if read -r another; then refuse "push one branch at a time"; fi
[ "$ref" = "$SERVICE_GIT_REF" ] || refuse "$ref: only $SERVICE_GIT_REF is written here"
case $new in *[!0]*) ;; *) refuse "$ref: deleting the branch is not allowed" ;; esac
case $old in *[!0]*) range="$new ^$old" ;; *) range=$new ;; esac
export old
# Word splitting makes two arguments of the range.
git log --no-color --no-decorate --no-show-signature --no-mailmap --no-notes --no-ext-diff --no-textconv \
  --ignore-submodules=none --raw -r -m --no-renames --no-abbrev \
  --format='commit %H %P%ncluster %(trailers:key=Cluster-Id,valueonly,unfold,separator=%x2C)' $range -- |
awk '
function fault(text) {
  if (commit in faulty) return
  faulty[commit] = 1
  faults++
  if (faults <= 200) print "refused: commit " commit ": " text
}
BEGIN {
  count = split(ENVIRON["SERVICE_GIT_SCOPE"], lines, "\n")
  for (i = 1; i <= count; i++) if (split(lines[i], part, " ") == 2) scope[part[1]] = scope[part[1]] part[2] "\n"
  old = ENVIRON["old"]
  if (old ~ /^0+$/) old = ""
}
$1 == "commit" {
  if (NR > 1 && $2 != parent) { broken = 1; exit }
  commit = $2; parent = $3; commits++
  if (NF > 3) fault("it is a merge; only commits with one parent are accepted")
  next
}
$1 == "cluster" {
  cluster = $0
  sub(/^cluster /, "", cluster)
  directories = 0
  if (cluster == "") fault("it has no Cluster-Id trailer")
  else if (cluster ~ /,/) fault("it has more than one Cluster-Id trailer")
  else if (!(cluster in scope)) fault("its Cluster-Id " cluster " is not one that this credential may write for")
  else directories = split(scope[cluster], directory, "\n")
  next
}
/^:/ {
  if (directories == 0) next
  tab = index($0, "\t")
  split(substr($0, 1, tab - 1), field, " ")
  path = substr($0, tab + 1)
  mode = field[2]
  inside = ""
  for (i = 1; i < directories; i++) {
    prefix = directory[i] "/"
    if (substr(path, 1, length(prefix)) == prefix) inside = substr(path, length(prefix) + 1)
  }
  if (path ~ /^"/) fault("the path " path " holds characters that are not allowed")
  else if (inside == "") fault("the path " path " lies outside " directory[1] ", the directory of " cluster)
  else if (field[5] == "D") next
  else if (mode == "120000") fault("the path " path " is a symbolic link")
  else if (mode == "160000") fault("the path " path " is a submodule")
  else if (mode != "100644") fault("the path " path " has the file mode " mode "; only 100644 is accepted")
  else if (inside != "README.md" && (inside !~ /^[a-z0-9_][a-z0-9._-]*(\/[a-z0-9_][a-z0-9._-]*)*$/ || inside ~ /\.(\/|$)/))
    fault("the path " path " has a name that is not allowed (lower-case letters, digits, . _ - and no leading dot)")
  next
}
END {
  if (faults > 0) exit 1
  if (broken || commits == 0 || parent != old) {
    print "refused: non-fast-forward: the commits are not a straight line from the old tip; fetch first"
    exit 1
  }
}
' >&2
`;
