// Keys and the live count. Everything works without this file.
const isTyping = (element) => element?.closest('input, textarea, select') !== null;
const rows = () => [...document.querySelectorAll('tr[data-row]')];

const openRow = (step) => {
  const all = rows();
  if (all.length === 0) return;
  const now = all.findIndex((row) => row.classList.contains('open'));
  const next = all[Math.min(all.length - 1, Math.max(0, now + step))];
  next?.querySelector('a[data-open]')?.click();
  next?.querySelector('a[data-open]')?.focus();
};

const markRow = (link) => {
  for (const row of rows()) {
    const isOpen = row.contains(link);
    row.classList.toggle('open', isOpen);
    if (isOpen) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
};

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-open]');
  if (link) markRow(link);
});

// On a narrow screen the card stands above the list.
document.addEventListener('htmx:after:swap', () => {
  const detail = document.querySelector('#list ~ #detail');
  if (detail && getComputedStyle(detail).position === 'static') detail.scrollIntoView();
});

// Enter in a form with several acts does the one whose key led there, and else none.
const chosen = new WeakMap();
const enterOf = (form) => form?.querySelector('[data-enter]');
const say = (form, text) => {
  form.querySelector('[data-says]').textContent = text;
};

document.addEventListener('focusin', ({ target }) => {
  // Enabled, it hears of Enter; without scripts it keeps Enter from doing anything.
  if (enterOf(target.form)) enterOf(target.form).disabled = false;
});

document.addEventListener('focusout', ({ target }) => {
  if (chosen.delete(target.form)) say(target.form, '');
});

document.addEventListener('click', (event) => {
  if (!event.target.matches?.('[data-enter]')) return;
  event.preventDefault();
  const { form } = event.target;
  const button = chosen.get(form);
  if (button?.isConnected) button.click();
  else say(form, 'Enter alone decides nothing: press a button, or its key first.');
});

/** The keys of a button work once a reason is given: they lead to its field before. */
const press = (key) => {
  const target = document.querySelector(
    `#detail [data-key="${key}"], main > .columns [data-key="${key}"]`,
  );
  if (!target) return false;
  const reason = target.form?.querySelector('[name="reason"]');
  if (reason && reason.value === '') {
    reason.focus();
    chosen.set(target.form, target);
    say(target.form, `Enter: ${target.firstChild.textContent.trim()}`);
  } else target.click();
  return true;
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const acts = {
    j: () => openRow(1),
    k: () => openRow(-1),
    '/': () => document.querySelector('#f-q')?.focus(),
    z: () => document.querySelector('#done button')?.click(),
    '?': () => document.querySelector('#keys')?.toggleAttribute('open'),
  };
  const act = acts[event.key];
  if (act) act();
  else if (!'ahur'.includes(event.key) || !press(event.key)) return;
  event.preventDefault();
});

// The bars of pulls that go on.
const numbers = new Intl.NumberFormat('en-GB');
const showPulls = (runs) => {
  for (const part of document.querySelectorAll('[data-pull]')) {
    const run = runs.find(({ stream }) => stream === part.dataset.pull);
    part.hidden = run === undefined;
    if (!run) continue;
    const { rows } = run;
    const of = run.of >= rows ? run.of : 0;
    const bar = part.querySelector('progress');
    bar.max = of || Math.max(1, rows);
    bar.value = of ? rows : 0;
    const percent = of ? Math.floor((rows / of) * 100) : 0;
    part.querySelector('span').textContent = of
      ? `${numbers.format(rows)} of about ${numbers.format(of)} rows, ${percent} %`
      : `${numbers.format(rows)} rows so far`;
  }
};

// Counts follow; rows never move under the cursor: a line offers to show what is new.
const LIVE_MS = 2_000;
const follow = async () => {
  if (document.visibilityState !== 'visible' || !document.querySelector('[data-mark]')) return;
  const answer = await fetch('/changes.json').catch(() => undefined);
  if (!answer?.ok) return;
  const live = await answer.json();
  const { held, attention } = live;
  for (const [path, count] of [
    ['/review', held],
    ['/outbox', attention],
  ]) {
    const shown = document.querySelector(`[data-count="${path}"]`);
    if (!shown) continue;
    shown.textContent = count;
    shown.hidden = count === 0;
  }
  const { mark, seen } = document.querySelector('[data-mark]').dataset;
  const newer = document.querySelector('#newer');
  if (newer) newer.hidden = mark === '' || String(live[mark] ?? '') === seen;
  showPulls(live.runs);
};
setInterval(follow, LIVE_MS);

// The forms of a card lead back to the list as it is.
document.addEventListener('submit', (event) => {
  const back = event.target.querySelector('[name="back"]');
  if (back && location.pathname === '/review') back.value = location.pathname + location.search;
  for (const button of event.target.querySelectorAll('button'))
    button.setAttribute('aria-busy', 'true');
});

for (const button of document.querySelectorAll('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
