/** Saved views of the review list: tabs above it, and forms that keep, rename and delete them. */
import { LIST_SHOWN } from '../../../decisions/review/filter.ts';
import { deleteView, renameView, saveView } from '../../../decisions/review/surface.ts';
import type { SavedView } from '../../../decisions/review/views.ts';
import { type Html, html } from '../../../lib/html.ts';
import { mayDo, type Role } from '../../../surface/roles.ts';
import { actForm } from '../../surface/html.ts';

export interface ViewsPart {
  readonly views: readonly SavedView[];
  /** Filter and order of the page, spelled as those of views are. */
  readonly filter: string;
  /** Address of the page without the open delivery. */
  readonly back: string;
  readonly role: Role;
}

const PATH = '/review';

/** Filter of the tab that is always there. */
const ALL = `shown=${LIST_SHOWN}`;

export function viewTabs({ views, filter, back, role }: ViewsPart): Html {
  const tab = (of: string, name: string) =>
    html`<a href="${PATH}?${of}"${of === filter && html` aria-current="page"`}>${name}</a>`;
  const own = views.find((one) => one.filter === filter);
  const form = { role, back };
  const save = actForm(saveView, {
    ...form,
    given: { filter },
    what: 'All of the house see it as a tab: this filter, in this order.',
  });
  const change =
    own &&
    html`${actForm(renameView, { ...form, given: { name: own.name } })}${actForm(deleteView, {
      ...form,
      given: { name: own.name },
    })}`;
  return html`<nav class="parts" aria-label="Saved views">${tab(ALL, 'All that wait')}${views.map(
    (one) => tab(one.filter, one.default ? `${one.name} (at first)` : one.name),
  )}</nav>${
    mayDo(role, saveView.role) &&
    html`<details><summary>${
      own ? `Change "${own.name}", or keep this as another view` : 'Keep this as a view'
    }…</summary>${save}${change}</details>`
  }`;
}
