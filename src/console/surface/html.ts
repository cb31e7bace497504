/** Forms of declared acts, for pages made by hand as for generic ones. */
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import type { ActHead } from '../../surface/acts.ts';
import type { Given } from '../../surface/given.ts';
import { choicesOf, isOptional, memberOf } from '../../surface/members.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import { actPath } from './addresses.ts';

export interface ActForm {
  readonly role: Role;
  /** Members that are known, and that the form sends without showing them. */
  readonly given: Given;
  /** Effect of the act, a line each. */
  readonly lines?: readonly string[];
  /** Text above the form in place of the act's own. */
  readonly what?: HtmlValue;
  readonly button?: string;
  /** Page to return to; left out: that of the thing. */
  readonly back?: string | undefined;
  /** Distinguishes two forms of one act on a page. */
  readonly id?: string;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Field in which a person states a member of an act. */
function field(of: ActHead, name: string, id: string): HtmlValue {
  const schema = of.input.shape[name];
  const member = schema && memberOf(schema);
  if (!schema || !member) return null;
  const { title, kind, about } = member;
  const choices = choicesOf(schema);
  const label = html`<label for="${id}">${title}</label>`;
  const required = !isOptional(schema) && html` required`;
  if (kind === 'flag') {
    return html`<label class="check"><input type="checkbox" id="${id}" name="${name}" value="1">
${title}</label>`;
  }
  if (choices) {
    return html`${label}<select id="${id}" name="${name}"${required}>${
      isOptional(schema) && html`<option value="">–</option>`
    }${choices.map((one) => html`<option>${one}</option>`)}</select>`;
  }
  const type = kind === 'whole' ? 'number' : 'text';
  const hint = about !== undefined && html` title="${about}"`;
  return html`${label}<input id="${id}" name="${name}" type="${type}"${required}${hint}
 maxlength="1000" autocomplete="off">`;
}

/** Form of an act; a person who may not do it reads who may. */
export function actForm(of: ActHead, form: ActForm): Html {
  const { role, given, lines = [], button = of.button, back, id = of.name } = form;
  const what = form.what ?? sentence(of.about);
  const would = lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
  if (!mayDo(role, of.role)) {
    const who = of.role === 'approver' ? 'Only an approver' : 'An operator';
    return html`<p>${what} <span class="soft">${who} may do this.</span></p>${would}`;
  }
  const [first = ''] = of.path.includes('{id}') ? of.args : [];
  const sent = Object.entries({ ...given, ...(back !== undefined && { back }) });
  const hidden = sent.filter(([name, value]) => name !== first && value !== undefined);
  const asked = Object.keys(of.input.shape).filter((name) => !(name in given));
  const reasonId = `${id}-reason`;
  return html`<form class="line act" method="post" action="${actPath(of, given)}">${hidden.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
  )}
<p>${what}</p>${would}${asked.map((name) => field(of, name, `${id}-${name}`))}${
    of.reason !== 'none' &&
    html`<label for="${reasonId}">Reason</label>
<input id="${reasonId}" name="reason" required maxlength="1000" autocomplete="off">`
  }
<button${of.danger === true && html` class="danger"`}>${button}</button></form>`;
}
