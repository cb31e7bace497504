// Keys, rows beside the list, live counts, and what a person typed. Everything works without it.
const here = () => location.pathname + location.search;
const isTyping = (element) =>
  element?.closest('input:not([type="checkbox"]), textarea, select') !== null;

// Texts that a person typed stay in this tab until they are sent, or their writer signs out.
const DRAFTS = 'drafts';
const { user } = document.body.dataset;
const ofTab = new BroadcastChannel('console');

const readDrafts = () => {
  const drafts = JSON.parse(sessionStorage.getItem(DRAFTS) ?? '{}');
  if (drafts.user === user) return drafts;
  sessionStorage.removeItem(DRAFTS);
  return { user, typed: {} };
};

const writeDrafts = (change) => {
  const drafts = readDrafts();
  change(drafts.typed);
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // The tab's storage is full: the text stays in its field alone.
  }
};

/** Fields that are kept; the number that confirms a reject is typed each time. */
const fieldsIn = (part) =>
  [...part.querySelectorAll('form[method="post"] :is(input, textarea, select)')].filter(
    ({ type, name }) => !['hidden', 'password', 'file'].includes(type) && name !== 'confirmed',
  );
const keyOf = ({ form, id, name }) =>
  `${form.dataset.keep ?? form.getAttribute('action')} ${id || name}`;
const contentOf = (field) => (field.type === 'checkbox' ? field.checked : field.value);

const restore = (part) => {
  const { typed } = readDrafts();
  for (const field of fieldsIn(part)) {
    const value = typed[keyOf(field)];
    if (value === undefined || value === contentOf(field)) continue;
    field[field.type === 'checkbox' ? 'checked' : 'value'] = value;
    field.closest('details')?.setAttribute('open', '');
  }
};

const forget = (form) =>
  writeDrafts((typed) => {
    for (const field of fieldsIn(form.parentElement)) {
      if (field.form === form) delete typed[keyOf(field)];
    }
  });

document.addEventListener('input', ({ target }) => {
  if (!target.form?.closest('#main') || !fieldsIn(target.form.parentElement).includes(target))
    return;
  writeDrafts((typed) => {
    typed[keyOf(target)] = contentOf(target);
  });
});

// At the end of a session by its person nothing stays, in no tab.
ofTab.addEventListener('message', () => {
  sessionStorage.removeItem(DRAFTS);
  if (user !== undefined) location.replace('/signed-out');
});
if (location.pathname === '/signed-out') {
  sessionStorage.removeItem(DRAFTS);
  ofTab.postMessage('signed out');
} else if (user !== undefined) restore(document);

// With these headers a refusal comes as a part, too, and nothing is done under another name
// when somebody else has signed in at this browser.
const ANSWER_MS = 60_000;
const ask = (address, more = {}) =>
  fetch(address, {
    headers: { 'x-part': here(), 'x-user': encodeURIComponent(user) },
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_MS),
    ...more,
  }).catch(() => undefined);

/** Whether nobody is signed in any more; a proxy that signs people in leads elsewhere. */
const isOver = (answer) => answer?.status === 401 || answer?.type === 'opaqueredirect';

const textOf = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
const link = (text) => Object.assign(textOf('a', text), { href: here() });

/** Contents of an answer as nodes; undefined: it sends to the sign-in, as a page. */
const nodesOf = async (answer, silence) => {
  if (isOver(answer)) {
    location.assign(answer.status === 401 ? `/sign-in?to=${encodeURIComponent(here())}` : here());
    return undefined;
  }
  const text = await answer?.text().catch(() => undefined);
  if (text === undefined) {
    const said = Object.assign(textOf('p', silence), { className: 'problem' });
    return [said, link('Show it as it is now')];
  }
  if (!answer.headers.get('content-type')?.startsWith('text/html')) return [textOf('p', text)];
  return [...new DOMParser().parseFromString(text, 'text/html').body.childNodes];
};

const SILENT = 'The daemon does not answer.';
const UNSENT =
  'The daemon does not answer. Whether it was done is not known; a second time would do nothing.';

// Rows of the list, with the open delivery beside it.
const rows = () => [...document.querySelectorAll('tr[data-row]')];
const linkIn = (row) => row?.querySelector('a[data-open]');
const detail = () => document.querySelector('#list ~ #detail');

const markRow = (marked) => {
  for (const row of rows()) {
    const isOpen = row.contains(marked);
    row.classList.toggle('open', isOpen);
    if (isOpen) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
};

// Until the marked row's delivery is there, the one before it takes neither key nor click.
let opening;
// After an act the next delivery comes up where the last one was. For a moment it takes no act, so
// that a second click, or a key held down, decides nothing that nobody has read.
const READ_MS = 1_000;
const rest = (part) => {
  const buttons = part.querySelectorAll('form[data-act="decide"] button[formaction]');
  for (const button of buttons) button.disabled = true;
  setTimeout(() => {
    for (const button of buttons) button.disabled = false;
  }, READ_MS);
};
if (document.querySelector('#done .toast')) rest(document);

const showRow = async (marked) => {
  const part = detail();
  opening = marked;
  markRow(marked);
  part.inert = true;
  const answer = await ask(`/review/card/${marked.dataset.open}`);
  const nodes = await nodesOf(answer, SILENT);
  if (opening !== marked || !nodes) return;
  part.replaceChildren(...nodes);
  part.inert = false;
  restore(part);
  // On a narrow screen the card stands above the list, where the finger may still be.
  if (getComputedStyle(part).position !== 'static') return;
  rest(part);
  part.scrollIntoView();
};

const openRow = (marked) => {
  // The card stays until its act is answered: a refusal must be seen, and no other page come up
  // while somebody types.
  if (!marked || detail()?.querySelector('form[aria-busy]')) return;
  if (marked.href !== location.href) history.pushState(null, '', marked.href);
  marked.focus();
  showRow(marked);
};

const step = (by) => {
  const all = detail() ? rows() : [];
  const now = all.findIndex((row) => row.classList.contains('open'));
  openRow(linkIn(all[Math.min(all.length - 1, Math.max(0, now + by))]));
};

document.addEventListener('click', (event) => {
  const row = event.target.closest?.('a[data-open]');
  // With another button or a key, the browser opens a tab or a window: nothing is marked here.
  const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!row || isElsewhere || event.button !== 0 || !detail()) return;
  event.preventDefault();
  openRow(row);
});

// On a wide screen the marked row is in sight, however far down the list it is.
if (detail() && getComputedStyle(detail()).position !== 'static') {
  document.querySelector('tr.open')?.scrollIntoView({ block: 'nearest' });
}

// Ticks are kept for their list and their tab by id and version, never by place.
const boxes = () => [...document.querySelectorAll('[data-tick]')];
const idOf = (box) => box.closest('tr').dataset.row;
const ticksKey = () => {
  const query = new URLSearchParams(location.search);
  query.delete('open');
  return `ticks ${location.pathname}?${query}`;
};

const sayTicks = (gone = []) => {
  const said = document.querySelector('[data-ticks]');
  const count = boxes().filter(({ checked }) => checked).length;
  const now =
    count > 0
      ? `${count} ticked: buttons and keys act on ${count > 1 ? 'these' : 'this one'}.`
      : 'None is ticked: keys act on the marked delivery, x ticks it.';
  const lost =
    gone.length > 0 ? ` Not ticked any more, as changed or gone: ${gone.join(', ')}.` : '';
  said.textContent = now + lost;
  for (const button of said.closest('form').querySelectorAll('[name="act"]')) {
    button.disabled = count === 0;
  }
};

const keepTicks = () => {
  const ticked = boxes().filter(({ checked }) => checked);
  writeDrafts((typed) => {
    typed[ticksKey()] = ticked.map((box) => [idOf(box), box.value, box.dataset.tick]);
  });
};

const restoreTicks = () => {
  if (!document.querySelector('[data-ticks]')) return;
  const kept = readDrafts().typed[ticksKey()] ?? [];
  const now = new Map(boxes().map((box) => [idOf(box), box]));
  for (const [id, box] of now)
    box.checked = kept.some((one) => one[0] === id && one[1] === box.value);
  sayTicks(kept.filter(([id]) => !now.get(id)?.checked).map(([, , name]) => name));
  keepTicks();
};

const forgetTicks = () =>
  writeDrafts((typed) => {
    for (const key of Object.keys(typed)) if (key.startsWith('ticks ')) delete typed[key];
  });

// Shift ticks, or clears, all from the last one on.
let lastTicked;
const tickTo = (box, isRange) => {
  const all = boxes();
  const [from, to] = [all.indexOf(lastTicked), all.indexOf(box)].sort((a, b) => a - b);
  if (isRange && from >= 0) for (const one of all.slice(from, to + 1)) one.checked = box.checked;
  lastTicked = box;
  keepTicks();
  sayTicks();
};

document.addEventListener('click', ({ target, shiftKey }) => {
  if (target.matches?.('[data-tick]')) tickTo(target, shiftKey);
});

const tickMarked = (isRange) => {
  const box = document.querySelector('tr.open [data-tick]');
  if (!box) return;
  box.checked = !box.checked;
  tickTo(box, isRange);
};
restoreTicks();

addEventListener('popstate', () => {
  if (!detail()) return;
  const id = new URLSearchParams(location.search).get('open');
  const shown = linkIn(document.querySelector('tr.open'))?.dataset.open ?? null;
  const wanted = linkIn(rows().find((row) => row.dataset.row === id));
  if (wanted && id !== shown) showRow(wanted);
  else if (id !== shown) location.reload();
});

// A reason in one click; its act still has to be pressed.
document.addEventListener('click', ({ target }) => {
  const { reason } = target.dataset ?? {};
  const field = reason && document.getElementById(reason);
  if (!field) return;
  field.value = target.textContent;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  field.focus();
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
  if (button?.disabled) say(form, 'It has just come up: look at it, then press Enter once more.');
  else if (button?.isConnected) button.click();
  else say(form, 'Enter alone decides nothing: press a button, or its key first.');
});

/** The keys of a button work once a reason is given: they lead to its field before. */
const press = (key) => {
  const target = document.querySelector(
    boxes().some(({ checked }) => checked)
      ? `#ticked [data-key="${key}"]`
      : `#detail:not([inert]) [data-key="${key}"], main > .columns > :not(#detail) [data-key="${key}"]`,
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
    j: () => step(1),
    k: () => step(-1),
    x: () => tickMarked(false),
    X: () => tickMarked(true),
    '/': () => (document.querySelector('#f-q') ?? document.querySelector('#find'))?.focus(),
    z: () => document.querySelector('#done button')?.click(),
    '?': () => document.querySelector('#keys')?.toggleAttribute('open'),
  };
  const act = acts[event.key];
  if (act) act();
  else if (event.repeat || !'ahur'.includes(event.key) || !press(event.key)) return;
  event.preventDefault();
});

// Forms are sent from here, so that a refusal leaves the page, and what was typed, as they are.
const refuse = (form, nodes) => {
  form.querySelector('.refused')?.remove();
  const part = Object.assign(document.createElement('div'), { className: 'refused' });
  part.setAttribute('role', 'alert');
  part.append(...nodes);
  form.prepend(part);
  part.scrollIntoView({ block: 'nearest' });
};

/** Row that is opened after an act on the open one. */
const nextOpen = () => {
  const all = rows();
  const now = all.findIndex((row) => row.classList.contains('open'));
  return now < 0 ? '' : (linkIn(all[now + 1] ?? all[now - 1])?.dataset.open ?? '');
};

const send = async (form, submitter) => {
  const data = new FormData(form, submitter);
  if (data.has('back') && detail()) data.set('back', here());
  if (data.has('next')) data.set('next', nextOpen());
  const body = form.enctype === 'multipart/form-data' ? data : new URLSearchParams(data);
  const to = submitter?.getAttribute('formaction') ?? form.getAttribute('action');
  const answer = await ask(to, { method: 'POST', body });
  const next = answer?.headers.get('location');
  if (next) {
    forget(form);
    if ('ticked' in form.dataset) forgetTicks();
    location.assign(next);
    return;
  }
  const nodes = await nodesOf(answer, UNSENT);
  form.removeAttribute('aria-busy');
  const main = answer?.ok && nodes?.find(({ id }) => id === 'main');
  if (main) {
    forget(form);
    document.querySelector('#main').replaceWith(main);
  } else if (nodes) refuse(form, nodes);
};

document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (form.method !== 'post' || !form.closest('#main, #done')) return;
  event.preventDefault();
  // A second press waits for the answer to the first.
  if (form.hasAttribute('aria-busy')) return;
  form.setAttribute('aria-busy', 'true');
  send(form, submitter);
});

// Parts that fetch themselves: those that are long in the making.
const load = async (part) => {
  await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.after)));
  if (document.visibilityState !== 'visible') {
    document.addEventListener('visibilitychange', () => load(part), { once: true });
    return;
  }
  const nodes = await nodesOf(await ask(part.dataset.load), SILENT);
  if (!nodes) return;
  const page = document.createElement('div');
  page.append(...nodes);
  const found = page.querySelector(`#${part.id}`);
  if (found) part.replaceWith(found);
  else part.replaceChildren(...nodes);
  restore(document);
  if (found?.dataset.load) load(found);
};
for (const part of document.querySelectorAll('[data-load]')) load(part);

// The bars of pulls that go on.
const numbers = new Intl.NumberFormat('en-GB');
const showPulls = (runs) => {
  for (const part of document.querySelectorAll('[data-pull]')) {
    const run = runs.find(({ stream }) => stream === part.dataset.pull);
    part.toggleAttribute('data-idle', run === undefined);
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

// Counts follow, and a line offers to show what is new. Nothing moves under the cursor: the line
// and the bars of pulls have their place before they show, and counts and warnings lie above.
const showLive = (live) => {
  const { total, deliveries, documents, runs } = live.waiting;
  for (const [path, count] of [
    ['/', total],
    ['/review', deliveries],
    ['/outbox', documents],
    ['/pulls', runs],
  ]) {
    const shown = document.querySelector(`[data-count="${path}"]`);
    if (!shown) continue;
    shown.textContent = count;
    shown.hidden = count === 0;
  }
  const { mark, seen } = document.querySelector('[data-mark]').dataset;
  const newer = document.querySelector('#newer a');
  if (newer) newer.hidden = mark === '' || String(live[mark] ?? '') === seen;
  showPulls(live.runs);
};

/** Shows that nothing can be done here now, over all the rest. */
const tell = (text, way = '') => {
  const lost = document.querySelector('#lost');
  if (lost.textContent === text + way) return;
  lost.hidden = text === '';
  lost.replaceChildren(text, link(way));
};

// A page that nobody looks at asks for nothing.
const LIVE_MS = 2_000;
const SILENT_MS = 3_000;
const MISSES_MAX = 2;
let isAsking = false;
let misses = 0;
const follow = async () => {
  if (isAsking || document.visibilityState !== 'visible') return;
  isAsking = true;
  const askedAt = performance.now();
  const answer = await ask('/changes.json', { signal: AbortSignal.timeout(SILENT_MS) });
  const live = await (answer?.ok ? answer.json() : undefined)?.catch(() => undefined);
  isAsking = false;
  misses = live || isOver(answer) ? 0 : misses + 1;
  if (isOver(answer)) tell('Your session has ended. What you wrote is kept: ', 'sign in again');
  else if (misses > MISSES_MAX || live?.silent) {
    // Slow is not gone: the line goes away with the first answer.
    const isBusy = live?.silent || performance.now() - askedAt >= SILENT_MS;
    const why = isBusy ? 'Selvedge is busy' : 'The daemon does not answer';
    tell(`${why}: nothing can be changed for the moment. `, 'Show the page again');
  } else if (misses === 0) tell('');
  if (live) showLive(live);
};
if (document.querySelector('[data-mark]')) {
  document.querySelector('#lost').setAttribute('role', 'alert');
  setInterval(follow, LIVE_MS);
  document.addEventListener('visibilitychange', follow);
}

// A page out of the browser's memory shows how things were: it is asked for once more.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

for (const button of document.querySelectorAll('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
