import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { ScheduleCard } from '../../contract/fleet.ts';
import { actionButtons } from '../parts/buttons.ts';
import { prose } from '../parts/prose.ts';
import { hrefOf } from '../pure/route.ts';
import type { Page } from '../state/page.ts';

/** When operations are made, what came of the last, and when the next is due. */
export function schedulesView(page: Page): TemplateResult {
  const { client } = page;
  const all = [...client.fleet.items.schedules.values()].sort((a, b) => a.id.localeCompare(b.id));
  return html`<h1 tabindex="-1">Schedules</h1>
    ${
      all.length === 0
        ? html`<p class="empty">${client.fleet.isSynced ? 'There is none.' : 'Loading…'}</p>`
        : html`<ul class="list">
            ${repeat(
              all,
              ({ id }) => id,
              (one) => rowView(page, one),
            )}
          </ul>`
    }`;
}

function rowView(page: Page, one: ScheduleCard): TemplateResult {
  const {
    namespace,
    name,
    action,
    schedule,
    timeZone,
    state,
    tone,
    sentence,
    nextAt,
    lastAt,
    lastOutcome,
    active,
    lastMissed,
    requestedBy,
    reason,
  } = one;
  return html`<li>
    <p class="name"><b>${name}</b> <small>${namespace}</small></p>
    <p>${action}, <code>${schedule}</code> <small>${timeZone}</small></p>
    <p><span class="key ${tone}">${state}</span></p>
    <div>
      <p>
        ${nextAt === null ? 'no next time' : html`next <rel-time at=${nextAt}></rel-time>`}${
          lastAt === null
            ? nothing
            : html`; last <rel-time at=${lastAt}></rel-time>${lastOutcome === null ? '' : `, ${lastOutcome}`}`
        }
      </p>
      ${active.map((its) => html`<p>runs: <a href=${hrefOf(`vmop/${namespace}/${its}`)}>${its}</a></p>`)}
      ${lastMissed === null ? nothing : html`<p class="muted">missed <rel-time at=${lastMissed.at}></rel-time>${prose(`: ${lastMissed.message}`)}</p>`}
    </div>
    <p class="muted">
      ${requestedBy}${reason === null ? '' : `: ${reason}`}${sentence === '' ? nothing : prose(` · ${sentence}`)}
    </p>
    ${actionButtons(page, one.actions, { about: { kind: 'VirtualMachineOperationSchedule', namespace, name } })}
  </li>`;
}
