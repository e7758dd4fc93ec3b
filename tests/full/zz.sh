. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/pairs.bash"
in_overlays "$@"
cd /; timeout 500 bash -x $SOPROF_SOURCE/tests/full/derive.sh
echo "derive rc $?"; date
