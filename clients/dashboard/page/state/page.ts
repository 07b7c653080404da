import type { Action, ActionName, ObjectRef } from '../../contract/fleet.ts';
import type { ActionRequest, ActionResult } from '../../contract/requests.ts';
import { Client } from '../live/client.ts';
import { fetchJson } from '../live/fetch-json.ts';
import { routeOf, type Route } from '../pure/route.ts';
import { Loader } from './loader.ts';

/** A question to the user, before something is asked of drover. */
export interface Confirmation {
  action: Action;
  about: ObjectRef;
  /** Which VMs, for an action on some. */
  vms: string[];
  /** The tool that owns the object, if one does: it may change back what is changed here. */
  gitOps: string | null;
  /** While the answer is awaited. */
  isSent: boolean;
  /** Why it was refused, last time. */
  refused: string | null;
}

/** What came of an action. */
type ActionSuccess = Extract<ActionResult, { ok: true }>;

/** What this tab shows, and what the user does in it. */
export class Page {
  readonly client: Client;
  readonly loader: Loader;
  route: Route = routeOf(location.hash);
  confirmation: Confirmation | null = null;
  result: ActionSuccess | null = null;
  readonly #draw: () => void;

  constructor(draw: () => void) {
    this.#draw = draw;
    this.client = new Client(draw);
    this.loader = new Loader(draw);
  }

  get isReadOnly(): boolean {
    return this.client.session?.isReadOnly ?? false;
  }

  /** Shows what the address says. */
  follow(): void {
    this.route = routeOf(location.hash);
    this.result = null;
    this.loader.clear();
    this.#draw();
  }

  open(confirmation: Pick<Confirmation, 'action' | 'about' | 'vms' | 'gitOps'>): void {
    this.confirmation = { ...confirmation, isSent: false, refused: null };
    this.result = null;
    this.#draw();
  }

  close(): void {
    this.confirmation = null;
    this.#draw();
  }

  forget(): void {
    this.result = null;
    this.#draw();
  }

  /** Asks drover, and shows what came of it. */
  async send(given: Pick<ActionRequest, 'reason' | 'confirm' | 'full' | 'revision' | 'shutDown'>): Promise<void> {
    const confirmation = this.confirmation;
    if (confirmation === null || confirmation.isSent) return;
    this.confirmation = { ...confirmation, isSent: true, refused: null };
    this.#draw();
    const { about, vms, action } = confirmation;
    const result = await posted({ action: action.name, about, ...(vms.length === 0 ? {} : { vms }), ...given });
    if (result.ok) {
      this.confirmation = null;
      this.result = result;
    } else if (this.confirmation !== null)
      this.confirmation = { ...confirmation, isSent: false, refused: result.sentence };
    this.loader.refresh(performance.now(), { evenIfFresh: true });
    this.#draw();
  }
}

async function posted(request: ActionRequest & { action: ActionName }): Promise<ActionResult> {
  const answer = await fetchJson<ActionResult>('actions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  if (answer.state === 'here') return answer.data;
  const { status, sentence } = answer;
  return { ok: false, sentence: status === null ? `${sentence} Whether it was done is not known.` : sentence };
}
