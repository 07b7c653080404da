import { html, nothing, type TemplateResult } from 'lit-html';
import type { Budget, Healing, OwnerCard, Rollout, Windows } from '../../contract/fleet.ts';
import { prose } from '../parts/prose.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf } from '../pure/route.ts';

const USES_SHOWN = 3;

/** What happens to the VMs of a card, why, and until when. */
export function stateView(card: OwnerCard, { isWhole = false } = {}): TemplateResult {
  const { rollout, budget, windows, healing, conditions } = card;
  return html`<div class="state">
    ${rollout === null ? nothing : rolloutView(rollout, isWhole)}
    ${budget === null || (budget.useCount === 0 && !isWhole) ? nothing : budgetView(budget, card.namespace, isWhole)}
    ${windows === null ? nothing : windowsView(windows)}
    ${healing === null ? nothing : healingView(healing, card, isWhole)}
    ${conditions.slice(0, isWhole ? undefined : 2).map(
      ({ type, reason, message, tone }) =>
        html`<p class="line">
          <span class="key ${tone}">${type}</span>
          <span>${prose(`${reason}${message === '' ? '' : `: ${message}`}`)}</span>
        </p>`,
    )}
  </div>`;
}

function rolloutView(rollout: Rollout, isWhole: boolean): TemplateResult {
  const { sentence, until, steps, paused, halted, failures, updated, replicas, end, requestedBy, reason } = rollout;
  if (end === 'Complete' && !isWhole && paused === null) return html``;
  const done = `${updated} of ${counted(replicas, 'VM')}`;
  return html`${steps.length === 0 || end === 'Complete' ? nothing : stepsView(rollout)}
  ${
    sentence === ''
      ? nothing
      : html`<p class="line">
          <span class="key ${rollout.tone}">rollout</span>
          <span
            >${prose(sentence)}${until === null ? nothing : html`; continues <rel-time at=${until}></rel-time>`}
            ${end === null && !sentence.includes(done) ? html`<small>${done} updated</small>` : nothing}</span
          >
        </p>`
  }
  ${paused === null ? nothing : byLine('paused', 'warn', paused)}
  ${halted === null ? nothing : byLine(halted.kind.toLowerCase(), 'bad', halted)}
  ${
    isWhole && requestedBy !== null
      ? html`<p class="line">
          <span class="key">requested</span> <span>by ${requestedBy}${reason === null ? '' : `: ${reason}`}</span>
        </p>`
      : nothing
  }
  ${(isWhole ? failures : failures.filter(({ message }) => message !== '').slice(-1)).map(
    ({ vm, message: reason, at }) =>
      html`<p class="line">
        <span class="key bad">failed</span>
        <span>${vm}, <rel-time at=${at}></rel-time>${reason === '' ? nothing : prose(`: ${reason}`)}</span>
      </p>`,
  )}`;
}

const byLine = (
  what: string,
  tone: string,
  { by, at, reason }: { by: string; at: string | null; reason: string | null },
): TemplateResult =>
  html`<p class="line">
    <span class="key ${tone}">${what}</span>
    <span
      >by
      ${by}${at === null ? nothing : html`, <rel-time at=${at}></rel-time>`}${reason === null ? '' : `: ${reason}`}</span
    >
  </p>`;

const STEP_LABELS = { passed: 'passed', reached: 'reached, waits', ahead: 'ahead' };

function stepsView({ steps }: Rollout): TemplateResult {
  return html`<ol class="steps" aria-label="Steps of the rollout">
    ${steps.map(
      ({ to, then, state }) =>
        html`<li data-step=${state}>
          <b>${to}</b> <span>${then}</span><span class="unseen">, ${STEP_LABELS[state]}</span>
        </li>`,
    )}
  </ol>`;
}

/** Who holds the places, what for, and until when. */
function budgetView(
  { maxUnavailable, limit, uses, useCount }: Budget,
  namespace: string,
  isWhole: boolean,
): TemplateResult {
  const shown = uses.slice(0, isWhole ? undefined : USES_SHOWN);
  const more = useCount - shown.length;
  return html`<div class="line">
    <span class="key ${useCount >= limit && useCount > 0 ? 'warn' : ''}">budget</span>
    <div>
      <span class="places" aria-hidden="true"
        >${Array.from({ length: Math.min(limit, 12) }, (_, index) => html`<i class=${index < useCount ? 'taken' : ''}></i>`)}</span
      >
      ${counted(useCount, 'VM')} down or being worked on; ${counted(limit, 'VM')} may be
      <small>(maxUnavailable ${maxUnavailable})</small>
      ${
        shown.length === 0
          ? nothing
          : html`<ul class="taken">
              ${shown.map(
                ({ vm, what, since, until }) =>
                  html`<li>
                    <a href=${hrefOf(`vm/${namespace}/${vm}`)}>${vm}</a>:
                    ${what}${
                      since === null ? nothing : html`, for <rel-time at=${since} length></rel-time>`
                    }${until === null ? nothing : html`, at most <rel-time at=${until} length></rel-time> more`}
                  </li>`,
              )}
            </ul>`
      }
      ${more > 0 ? html`<small>and ${more} more</small>` : nothing}
    </div>
  </div>`;
}

/** Whether a window is open, and until when. */
export const windowView = ({ isOpen, until }: Windows): TemplateResult =>
  html`${isOpen ? 'open' : 'closed'}${until === null ? nothing : html`, ${isOpen ? 'closes' : 'opens'} <rel-time at=${until}></rel-time>`}`;

const windowsView = (windows: Windows): TemplateResult =>
  html`<p class="line">
    <span class="key ${windows.isOpen ? 'good' : ''}">window</span>
    <span>${windowView(windows)} <small>${windows.texts.join('; ')}</small></span>
  </p>`;

function healingView(
  { paused, suspended, cycles, givenUp }: Healing,
  { namespace }: OwnerCard,
  isWhole: boolean,
): TemplateResult {
  const link = (vm: string): TemplateResult => html`<a href=${hrefOf(`vm/${namespace}/${vm}`)}>${vm}</a>`;
  const most = isWhole ? 50 : 2;
  return html`${paused === null ? nothing : byLine('healing paused', 'warn', paused)}
  ${suspended === null || paused !== null ? nothing : html`<p class="line"><span class="key bad">healing</span> <span>${prose(`suspended: ${suspended}`)}</span></p>`}
  ${cycles.slice(0, most).map(
    ({ vm, attempt, message: reason, nextAt }) =>
      html`<p class="line">
        <span class="key busy">healing</span>
        <span
          >${link(vm)}, attempt
          ${attempt}${nextAt === null ? nothing : html`, next <rel-time at=${nextAt}></rel-time>`}${prose(`: ${reason}`)}</span
        >
      </p>`,
  )}
  ${cycles.length > most ? html`<p class="line"><span class="key"></span> <small>and ${cycles.length - most} more are being healed</small></p>` : nothing}
  ${givenUp.slice(0, most).map(
    ({ vm, message: reason, at }) =>
      html`<p class="line">
        <span class="key bad">healing</span>
        <span>${link(vm)}, <rel-time at=${at}></rel-time>${prose(`: ${reason}`)}</span>
      </p>`,
  )}`;
}
