# Types the blocks of the manual in the container of container.sh, which is sourced before. What was
# typed and answered stands in walk.log of its folder.
: >walk.log
: >typed

# The first block of a page with this text in it.
block() {
  awk -v want="$2" '
    /^```/ { if (open) { if (index(text, want)) { printf "%s", text; exit } text = "" } open = !open; next }
    open { text = text $0 "\n" }' "$repository/docs/$1"
}
# What is typed of it: of a block that shows answers too, the lines behind a prompt.
commands() {
  local text
  text=$(block "$@")
  if grep -q '^\$ ' <<<"$text"; then sed -n 's/^\$ //p' <<<"$text"; else printf '%s\n' "$text"; fi
}
enter() { inside env HOME=/root npm_config_offline=true bash -c "cd ${here:-/root}; set -euo pipefail; $1"; }
# Types the block as root, after what `sed` fills in.
typed() { # page, text, sed expressions…
  local page=$1 want=$2 text answer
  shift 2
  text=$(commands "$page" "$want")
  for change in "$@"; do text=$(sed -e "$change" <<<"$text"); done
  echo "$page: $want" >>typed
  if answer=$(enter "$text" 2>&1) && [ -n "$text" ]; then
    echo "ok    $page: $(head -1 <<<"$text" | cut -c 1-90)"
  else
    echo "FAIL  $page: $text: $answer"
    failed=1
  fi
  printf '%s\n$ %s\n%s\n' "---- $page" "$text" "$answer" >>walk.log
}
