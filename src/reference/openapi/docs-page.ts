/**
 * Renders a description as a page for people: one section per request, no script, nothing loaded
 * from elsewhere.
 */
import { createHash } from 'node:crypto';
import { type Html, html } from '../../lib/html.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 0.875rem/1.5 ui-monospace, monospace; }
pre { overflow: auto; padding: 0.75rem; border: 1px solid #8885; border-radius: 0.25rem; }
section { border-top: 1px solid #8885; margin-top: 2rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; }
h2 .method { display: inline-block; min-width: 4.5rem; }
summary { cursor: pointer; }
`;

/**
 * Content security policy of the page: the hash allows the style in the page, and nothing else is
 * allowed.
 */
export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

type Members = Readonly<Record<string, unknown>>;

function members(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}

function items(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(members) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function schemaBlock(title: string, schema: unknown): Html {
  return html`<details>
    <summary>${title}</summary>
    <pre tabindex="0">${JSON.stringify(schema, null, 2)}</pre>
  </details>`;
}

function contentBlocks(title: string, holder: Members): Html[] {
  return Object.entries(members(holder.content)).map(([type, content]) =>
    schemaBlock(`${title} (${type})`, members(content).schema),
  );
}

function parameterTable(parameters: readonly Members[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map((one) => {
    const { description: _shownBeside, ...schema } = members(one.schema);
    return html`<tr>
      <td><code>${text(one.name)}</code></td>
      <td>${text(one.in)}${one.required === true ? ', required' : ''}</td>
      <td><code>${JSON.stringify(schema)}</code></td>
      <td>${text(one.description)}</td>
    </tr>`;
  });
  return html`<table>
    <thead><tr><th>Parameter</th><th>In</th><th>Schema</th><th>Meaning</th></tr></thead>
    <tbody>${rows}</tbody>
  </table>`;
}

function operationSection(method: string, path: string, operation: Members): Html {
  const responses = Object.entries(members(operation.responses));
  const answers = responses.flatMap(([status, response]) => {
    const holder = members(response);
    const title = `${status}: ${text(holder.description)}`;
    const blocks = contentBlocks(title, holder);
    return blocks.length > 0 ? blocks : [html`<p>${title}</p>`];
  });
  const note = operation.deprecated === true ? html`<p><strong>Deprecated</strong></p>` : undefined;
  return html`<section id="${text(operation.operationId)}">
    <h2><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h2>
    <p>${text(operation.summary)}</p>
    ${note}
    ${parameterTable(items(operation.parameters))}
    ${contentBlocks('Body', members(operation.requestBody))}
    ${answers}
  </section>`;
}

function operations(document: Members): { method: string; path: string; operation: Members }[] {
  return Object.entries(members(document.paths)).flatMap(([path, item]) =>
    Object.entries(members(item)).map(([method, operation]) => ({
      method,
      path,
      operation: members(operation),
    })),
  );
}

/** Renders the page of an OpenAPI document; `source` is the address of the document itself. */
export function docsPage(document: Json | object, source: string): Html {
  const root = members(document);
  const info = members(root.info);
  const all = operations(root);
  const schemas = Object.entries(members(members(root.components).schemas));
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${text(info.title)}</title>
    <style>${STYLE}</style>
  </head>
  <body>
    <h1>${text(info.title)}</h1>
    <p>Version ${text(info.version)}. ${text(info.description)}
      This is the reference service, a stand-in for tests and trials and not the real service.
      The same <a href="${source}">as OpenAPI</a>.</p>
    <nav aria-label="Requests"><ul>
      ${all.map(
        ({ method, path, operation }) =>
          html`<li><a href="#${text(operation.operationId)}"><code>${method.toUpperCase()}
            ${path}</code></a> ${text(operation.summary)}</li>`,
      )}
    </ul></nav>
    ${all.map(({ method, path, operation }) => operationSection(method, path, operation))}
    <section>
      <h2>Shapes</h2>
      ${schemas.map(([name, schema]) => schemaBlock(name, schema))}
    </section>
  </body>
</html>`;
}
