import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Need } from '../../contract/fleet.ts';
import { actionButton } from '../parts/buttons.ts';
import { prose } from '../parts/prose.ts';
import { formatWhere, hiddenFrom, isHidden } from '../pure/hidden.ts';
import { capitalized, counted } from '../pure/labels.ts';
import { liveState, unknownSince } from '../pure/news.ts';
import { hrefOf, idOf } from '../pure/route.ts';
import { clockOf } from '../pure/times.ts';
import type { Page } from '../state/page.ts';

/** What needs a person, the most urgent first: the beginning of the page. */
export function needsView(page: Page): TemplateResult {
  const { items, count } = page.client.fleet.needs;
  return html`<section class="needs" aria-labelledby="needs-title">
    <h1 id="needs-title" tabindex="-1">${titleOf(page)}</h1>
    ${
      items.length === 0
        ? nothing
        : html`<ol>
            ${repeat(
              items,
              ({ id }) => id,
              (need) => needItem(page, need),
            )}
          </ol>`
    }
    ${count > items.length ? html`<p class="more">and ${count - items.length} more</p>` : nothing}
  </section>`;
}

/** Nothing is not the same as nothing yet, nothing any more, or nothing that the user may see. */
function titleOf({ client }: Page): TemplateResult | string {
  const { count } = client.fleet.needs;
  const since = unknownSince(client);
  if (count > 0) {
    const need = since === null ? `need${count === 1 ? 's' : ''} a person` : `needed a person at ${clockOf(since)}`;
    return `${counted(count, 'thing')} ${need}`;
  }
  if (!client.fleet.isSynced) return liveState(client) === 'signed-out' ? 'Signed out' : 'Looking…';
  if (since !== null) return `What needs a person is unknown since ${clockOf(since)}`;
  const hidden = hiddenFrom(client.session);
  if (client.fleet.cards.length === 0 && isHidden(hidden, 'virtualmachinepools') && isHidden(hidden, 'virtualmachines'))
    return `You may not see pools, sets and VMs${formatWhere(hidden)}`;
  return hidden.length > 0
    ? 'Nothing that you may see needs a person'
    : html`<span class="calm"><span class="mark" aria-hidden="true">✓</span> Nothing needs a person</span>`;
}

function needItem(page: Page, need: Need): TemplateResult {
  const { tone, sentence, done, since, about, vm, command, action } = need;
  const id = vm !== null && about.namespace !== null ? `vm/${about.namespace}/${vm}` : idOf(about);
  const text = prose(capitalized(sentence, about.name));
  return html`<li class=${tone}>
    <span class="mark" role="img" aria-label=${tone === 'bad' ? 'urgent' : 'waits'}>${tone === 'bad' ? '!' : '‖'}</span>
    <div>
      <p class="sentence">${id === null ? text : html`<a href=${hrefOf(id)}>${text}</a>`}</p>
      <p class="detail">
        ${about.namespace ?? 'whole cluster'}${done === '' ? '' : ` · ${done}`}${since === null ? nothing : html` · <rel-time at=${since}></rel-time>`}
        ${command === '' ? nothing : html` · <code>${command}</code>`}
      </p>
    </div>
    ${action === null ? nothing : actionButton(page, action, { about, ...(vm === null ? {} : { vms: [vm] }), gitOps: gitOpsOf(page, need) }, 'main')}
  </li>`;
}

const gitOpsOf = ({ client }: Page, { about }: Need): string | null =>
  client.fleet.items.cards.get(idOf(about) ?? '')?.gitOps?.tool ?? null;
