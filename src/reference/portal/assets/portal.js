// The portal works without this script, except for the first step: the token of a portal link is
// in the fragment, which only the browser can see, so it is exchanged for a session here.

async function signIn(status) {
  const token = new URLSearchParams(location.hash.slice(1)).get('key');
  history.replaceState(null, '', location.pathname);
  if (!token) {
    status.textContent = 'This address has no key. Open the portal through a fresh link.';
    return;
  }
  status.textContent = 'Signing in…';
  const answer = await fetch('/portal/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (answer.ok) location.replace('/portal/');
  else status.textContent = await answer.text();
}

function copyOnClick(button) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = 'Copied';
  });
}

const status = document.querySelector('[data-sign-in]');
if (status) {
  signIn(status).catch(() => {
    status.textContent = 'The portal does not answer. Try again with a fresh link.';
  });
}
for (const button of document.querySelectorAll('button[data-copy]')) copyOnClick(button);
