import { html, nothing, type TemplateResult } from 'lit-html';
import { keyed } from 'lit-html/directives/keyed.js';
import { ref } from 'lit-html/directives/ref.js';
import type { ActionName } from '../../contract/fleet.ts';
import { ACTIONS } from '../pure/labels.ts';
import type { Confirmation, Page } from '../state/page.ts';
import { outlookView } from './drain-outlook.ts';
import { prose } from './prose.ts';

let shown: HTMLDialogElement | undefined;

/**
 * Shows the dialog as soon as it is in the page, and closes it before it leaves that: the browser keeps the focus in
 * it, and gives it back if it is closed.
 */
function open(element: Element | undefined): void {
  const dialog = element as HTMLDialogElement | undefined;
  if (dialog === undefined) shown?.close();
  else if (!dialog.open) queueMicrotask(() => dialog.isConnected && dialog.showModal());
  shown = dialog;
}

/** The question before an action: what it will do, why, and for some the name, typed. */
export function confirmDialog(page: Page): TemplateResult {
  const { confirmation } = page;
  if (confirmation === null) return html``;
  const { about, action, vms } = confirmation;
  const { label, title, effect } = ACTIONS[action.name];
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => textOf(given.get(name));
    const [reason, confirm, revision] = [text('reason'), text('confirm'), text('revision')];
    void page.send({
      ...(reason === '' ? {} : { reason }),
      ...(confirm === '' ? {} : { confirm }),
      ...(revision === '' ? {} : { revision }),
      ...(given.has('full') ? { full: true } : {}),
      ...(given.has('shutDown') ? { shutDown: true } : {}),
    });
  };
  return keyed(
    `${action.name} ${about.kind} ${about.name}`,
    html`<dialog
      class="confirm"
      aria-labelledby="confirm-title"
      aria-describedby="confirm-effect"
      ${ref(open)}
      @close=${() => page.close()}
    >
      <form @submit=${send}>
        <h2 id="confirm-title">${title.replace('NAME', about.name)}</h2>
        <p id="confirm-effect">${effect}</p>
        ${vms.length === 0 ? nothing : html`<p>VM: <b>${vms.join(', ')}</b></p>`}
        ${
          confirmation.gitOps === null
            ? nothing
            : html`<p class="note warn">
                ${confirmation.gitOps} owns this object: it may change back what you change here.
              </p>`
        }
        ${action.name === 'drain.start' ? outlookView(page, about.name) : nothing} ${fields(confirmation)}
        ${confirmation.refused === null ? nothing : html`<p class="note bad" role="alert">${prose(confirmation.refused)}</p>`}
        <footer>
          <button type="button" class="quiet" @click=${() => page.close()}>Cancel</button>
          <button
            type="submit"
            class=${action.isTyped ? 'danger main' : 'main'}
            aria-disabled=${confirmation.isSent ? 'true' : nothing}
          >
            ${confirmation.isSent ? 'Asking…' : label}
          </button>
        </footer>
      </form>
    </dialog>`,
  ) as TemplateResult;
}

const textOf = (value: FormDataEntryValue | null): string => (typeof value === 'string' ? value.trim() : '');

function fields({ action, about }: Confirmation): TemplateResult {
  return html`
    ${action.name === 'drain.cancel' ? nothing : reasonField(action.name)}
    ${
      action.name === 'rollout.undo'
        ? html`<label>
            <span>Revision <small>number or hash; else the last one that all VMs had</small></span>
            <input name="revision" autocomplete="off" spellcheck="false" />
          </label>`
        : nothing
    }
    ${
      action.name === 'rollout.promote'
        ? html`<label class="check"><input type="checkbox" name="full" /> <span>past all remaining steps</span></label>`
        : nothing
    }
    ${
      action.isTyped
        ? html`<label>
            <span>Type <b>${about.name}</b> to confirm</span>
            <input name="confirm" required autocomplete="off" spellcheck="false" pattern=${patternOf(about.name)} />
          </label>`
        : nothing
    }
  `;
}

const reasonField = (name: ActionName): TemplateResult =>
  html`<label>
    <span>Reason <small>optional; ${name === 'drain.start' ? 'kept on the node' : 'kept in the history'}</small></span>
    <input name="reason" autocomplete="off" maxlength="1024" autofocus />
  </label>`;

/** The name alone, as a pattern of a text field; of what names may have, only a dot has a meaning there. */
const patternOf = (name: string): string => name.replaceAll('.', String.raw`\.`);
