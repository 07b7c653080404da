import { html, nothing, type TemplateResult } from 'lit-html';
import type { Action, ActionName, ObjectRef } from '../../contract/fleet.ts';
import { ACTIONS } from '../pure/labels.ts';
import type { Page } from '../state/page.ts';
import { prose } from './prose.ts';

/** What buttons are about. */
export interface Subject {
  about: ObjectRef;
  vms?: string[];
  gitOps?: string | null;
}

/** What a rollout that waits is there for. */
const MAIN: readonly ActionName[] = ['rollout.promote'];

/** A button that asks first. One that is not allowed stays in reach, and says why. `look`: `main` for what is next. */
export function actionButton(
  page: Page,
  action: Action,
  { about, vms = [], gitOps = null }: Subject,
  look: 'main' | '' = MAIN.includes(action.name) && action.whyNot === null ? 'main' : '',
): TemplateResult {
  const { label } = ACTIONS[action.name];
  const { whyNot } = action;
  const id = `why-${action.name}-${about.kind}-${about.namespace ?? ''}-${about.name}-${vms.join('-')}`;
  const press = (): void => {
    if (whyNot === null) page.open({ action, about, vms, gitOps });
  };
  return html`<span class="action">
    <button
      type="button"
      class=${look}
      aria-label=${`${label} ${vms.length === 0 ? about.name : vms.join(', ')}`}
      aria-disabled=${whyNot === null ? nothing : 'true'}
      aria-describedby=${whyNot === null ? nothing : id}
      @click=${press}
    >
      ${label}</button
    >${whyNot === null ? nothing : html`<span class="why" role="tooltip" id=${id}>${prose(whyNot)}</span>`}
  </span>`;
}

/** The buttons of an object. `isAll`: also those that are not allowed. */
export function actionButtons(
  page: Page,
  actions: readonly Action[],
  subject: Subject,
  isAll = false,
): TemplateResult | typeof nothing {
  const shown = isAll ? actions : actions.filter(({ whyNot }) => whyNot === null);
  if (shown.length === 0) return nothing;
  return html`<div class="actions">${shown.map((action) => actionButton(page, action, subject))}</div>`;
}

/** What came of the last button that was pressed. The object itself may be gone by then, and out of this view. */
export const actionResult = (page: Page): TemplateResult =>
  html`<div class="result" role="status">
    ${
      page.result === null
        ? nothing
        : html`<p>
            <span class="mark" aria-hidden="true">✓</span> ${prose(page.result.sentence)}
            ${page.result.notes.map((note) => html`<span class="remark">${prose(note)}</span>`)}
            <button type="button" class="quiet" @click=${() => page.forget()}>Dismiss</button>
          </p>`
    }
  </div>`;
