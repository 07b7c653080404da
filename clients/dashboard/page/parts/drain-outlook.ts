import { html, nothing, type TemplateResult } from 'lit-html';
import type { NodeDetails } from '../../contract/requests.ts';
import { counted } from '../pure/labels.ts';
import type { Page } from '../state/page.ts';
import { loadedView } from './loaded.ts';
import { prose } from './prose.ts';

export const nodePath = (node: string): string => `nodes/${encodeURIComponent(node)}`;

/** What will happen to the VMs on a node, by what it is. */
export function outlookView({ loader }: Page, node: string): TemplateResult {
  const loaded = loader.get<NodeDetails>(nodePath(node));
  return loadedView(loaded, outlookOf, 'Looking what is on it…');
}

function outlookOf({ items, shutDown }: NodeDetails): TemplateResult {
  if (items.length === 0) return html`<p>No VM is on it.</p>`;
  const groups = Map.groupBy(items, ({ message }) => message);
  return html`<ul class="outlook">
      ${[...groups].map(
        ([message, of]) =>
          html`<li>
            <b>${counted(of.length, 'VM')}</b> ${prose(message)}
            ${of.some(({ needsPerson }) => needsPerson) ? html`<span class="badge">needs a person</span>` : nothing}
          </li>`,
      )}
    </ul>
    ${
      shutDown === null
        ? nothing
        : html`<p class="note bad">${prose(`${shutDown}.`)}</p>
            <label class="check"><input type="checkbox" name="shutDown" required /> <span>Shut them down</span></label>`
    }`;
}
