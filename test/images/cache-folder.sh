# Sourced: where what is slow to make is kept, beside what test/kube/build.sh makes.
cache=${SERVICE_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/service-kube}
