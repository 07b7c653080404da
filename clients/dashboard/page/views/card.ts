import { html, nothing, type TemplateResult } from 'lit-html';
import type { OwnerCard } from '../../contract/fleet.ts';
import { actionButtons } from '../parts/buttons.ts';
import { kindLabel } from '../pure/labels.ts';
import { hrefOf, refOf } from '../pure/route.ts';
import { MOST_SQUARES, rowsOf } from '../pure/rows.ts';
import type { Page } from '../state/page.ts';
import { barView, squaresView } from './members.ts';
import { stateView } from './state.ts';

/** A pool or set in a few lines: its VMs, what happens to them, and what can be asked of it. */
export function cardView(page: Page, card: OwnerCard): TemplateResult {
  const { id, kind, namespace, name } = card;
  const title = name === '' ? namespace : name;
  return html`<article class="card" aria-labelledby=${`card-${id}`}>
    <header>
      <h3 id=${`card-${id}`}><a href=${hrefOf(id)}>${title}</a></h3>
      <p class="place">${name === '' ? '' : `${namespace} · `}${kindLabel(kind)}${gitOpsBadge(card)}</p>
      ${readyView(card)}
    </header>
    ${membersOf(page, card)} ${stateView(card)}
    ${kind === null ? nothing : actionButtons(page, card.actions, subjectOf(card))}
  </article>`;
}

/** What buttons of the card are about. */
export const subjectOf = (card: OwnerCard) => ({ about: refOf(card), gitOps: card.gitOps?.tool ?? null });

export const gitOpsBadge = ({ gitOps }: OwnerCard): TemplateResult | typeof nothing =>
  gitOps === null
    ? nothing
    : html` <span class="badge" title=${`${gitOps.name}: it may change back what is changed here`}
        >${gitOps.tool}</span
      >`;

/** Such as `, 3 stopped`; empty if none is. */
export const formatStopped = (stopped: number): string =>
  stopped === 0 ? '' : `, ${stopped.toLocaleString('en')} stopped`;

/** How many of the members that are to run are ready. */
export function readyView({ desired, ready, stopped, isDeleting, kind, current }: OwnerCard): TemplateResult {
  const of = Math.max(0, (kind === null ? current : desired) - stopped);
  const tone = ready >= of && !isDeleting ? 'good' : 'warn';
  const beside = `${formatStopped(stopped)}${isDeleting ? ', being deleted' : ''}`;
  return html`<p class="ready ${tone}">
    <b>${ready.toLocaleString('en')}</b>/${of.toLocaleString('en')} ready${beside}
  </p>`;
}

function membersOf({ client }: Page, card: OwnerCard): TemplateResult {
  const cells = client.fleet.cellsOf(card.id);
  const total = Math.max(cells.length, card.current);
  if (total >= MOST_SQUARES)
    return html`${barView(card)}
      <p class="more"><a href=${hrefOf(card.id)}>Show each VM</a></p>`;
  return squaresView(card, rowsOf(card, cells));
}
