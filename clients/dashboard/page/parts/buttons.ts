import { html, nothing, type TemplateResult } from 'lit-html';
import type { Action, ObjectRef } from '../../contract/fleet.ts';
import { ACTIONS } from '../pure/words.ts';
import { sameObject, type Page } from '../state/page.ts';

/** What buttons are about. */
export interface Subject {
  about: ObjectRef;
  vms?: string[];
  gitOps?: string | null;
}

/** A button that asks first. One that is not allowed stays in reach, and says why. */
export function actionButton(page: Page, action: Action, { about, vms = [], gitOps = null }: Subject): TemplateResult {
  const { label } = ACTIONS[action.name];
  const { whyNot } = action;
  const id = `why-${action.name}-${about.kind}-${about.namespace ?? ''}-${about.name}-${vms.join('-')}`;
  const press = (): void => {
    if (whyNot === null) page.open({ action, about, vms, gitOps });
  };
  return html`<span class="action">
    <button
      type="button"
      class=${action.isTyped ? 'danger' : ''}
      aria-label=${`${label} ${vms.length === 0 ? about.name : vms.join(', ')}`}
      aria-disabled=${whyNot === null ? nothing : 'true'}
      aria-describedby=${whyNot === null ? nothing : id}
      @click=${press}
    >
      ${label}</button
    >${whyNot === null ? nothing : html`<span class="why" role="tooltip" id=${id}>${whyNot}</span>`}
  </span>`;
}

/** The buttons of an object, and what came of the last that was pressed. `isAll`: also those that are not allowed. */
export function actionButtons(page: Page, actions: readonly Action[], subject: Subject, isAll = false): TemplateResult {
  const shown = isAll ? actions : actions.filter(({ whyNot }) => whyNot === null);
  const told = page.told !== null && sameObject(page.told.about, subject.about) ? page.told.result : null;
  return html`${
    shown.length === 0
      ? nothing
      : html`<div class="actions">${shown.map((action) => actionButton(page, action, subject))}</div>`
  }${
    told === null
      ? nothing
      : html`<p class="told" role="status">
          <span class="mark" aria-hidden="true">✓</span> ${told.sentence}
          ${told.remarks.map((remark) => html`<span class="remark">${remark}</span>`)}
          <button type="button" class="quiet" @click=${() => page.forget()}>Dismiss</button>
        </p>`
  }`;
}
