import { html, nothing, type TemplateResult } from 'lit-html';
import type { Loaded } from '../state/loader.ts';

/** What was asked for; that it is still asked for, in the words `wait`; why it could not be read, or read again. */
export function loadedView<T>(loaded: Loaded<T>, view: (data: T) => unknown, wait = 'Loading…'): TemplateResult {
  if (loaded.state === 'loading') return html`<p class="empty">${wait}</p>`;
  if (loaded.state === 'failed') return html`<p class="note bad">${loaded.sentence}</p>`;
  const { data, old } = loaded;
  return html`${old === null ? nothing : html`<p class="note warn">This could not be read again, and may be old: ${old}</p>`}
  ${view(data)}`;
}
