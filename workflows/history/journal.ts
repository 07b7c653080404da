import { workflowInfo } from '@temporalio/workflow';
import {
  addTo,
  bytesOfOwner,
  endActs,
  ITSELF,
  MOST_BYTES,
  newestActs,
  type Act,
  type ActEnd,
  type BegunAct,
  type OpenActs,
} from '../../decisions/history/act.ts';
import { acts } from '../lib/messages.ts';
import { onQuery } from '../lib/on-signal.ts';
import type { RequestPayload } from '../lib/payloads.ts';

/** How many more acts there are when those are dropped that are too old. */
const DROPPED_AFTER = 100;

/**
 * What a workflow has done, and what users have asked of it: one record for each act, made when it happens, for
 * `drover history`.
 */
export class Journal {
  #bytes: number;
  #acts: Act[];
  /** How many acts there are when old ones are next dropped. */
  #full: number;

  /** `bytes`: how much of it is kept, as JSON. */
  constructor(carried: readonly Act[] = [], bytes = MOST_BYTES) {
    this.#bytes = Math.min(bytes, MOST_BYTES);
    this.#acts = [...carried];
    this.#full = carried.length + DROPPED_AFTER;
    onQuery(acts, 'What was done, as `drover history` shows it: the newest.', () => this.kept);
  }

  /** Records that the spec wants another number of VMs. */
  sawScaling(from: number, to: number): void {
    this.done({ action: 'scale', vms: [], from: `${from} VMs`, to: `${to} VMs` }, { end: 'Done' });
  }

  /** Takes in how many VMs the pool or set has: by the most of them it is bounded. */
  fit(vms: number): void {
    this.#bytes = Math.max(this.#bytes, bytesOfOwner(vms));
  }

  /** What the next run, or the result, must tell. */
  get kept(): Act[] {
    return newestActs(this.#acts, this.#bytes);
  }

  /**
   * Records an act in progress, of drover's own accord if no requester is given. Returns what records how it ended, for
   * some of its VMs or all.
   */
  begin(act: BegunAct): (how: ActEnd, vms?: readonly string[]) => void {
    const { action, workflow } = this.#add({
      requestedBy: ITSELF,
      ...act,
      endedAt: null,
      end: 'InProgress',
      message: null,
    });
    return (how, vms = act.vms) => this.end({ workflow, action, vms }, how);
  }

  /** Records how acts in progress, or VMs of them, have ended. Without `how`, they were not done. */
  end(which: OpenActs, how: ActEnd | null): void {
    this.#acts = endActs(this.#acts, which, how, now());
  }

  /** As `end`, for VMs that ended each in its own way. */
  endEach(which: Omit<OpenActs, 'vms'>, outcomes: readonly ({ vm: string } & ActEnd)[]): void {
    for (const alike of Map.groupBy(outcomes, ({ end, message }) => `${end} ${message}`).values())
      this.end({ ...which, vms: alike.map(({ vm }) => vm) }, alike[0]!);
  }

  /** Whether acts of this workflow are in progress. */
  isOpen(workflow: string): boolean {
    return this.#acts.some((act) => act.workflow === workflow && act.end === 'InProgress');
  }

  /** Records what a user has asked for, with `drover` or in the Web UI. */
  recordRequest(action: string, { by, reason: message }: RequestPayload, vms: string[] = []): void {
    this.done({ action, vms, requestedBy: by ?? null }, { end: 'Requested', message });
  }

  /** Records an act that is over. */
  done(act: BegunAct, { end, message = null }: ActEnd): void {
    this.#add({ ...act, endedAt: now(), end, message });
  }

  #add(some: BegunAct & Pick<Act, 'endedAt' | 'end' | 'message'>): Act {
    const { time = now(), workflow = workflowInfo().workflowId } = some;
    const { endedAt, action, vms, from = null, to = null, requestedBy = null, end, message, reason = null } = some;
    // In the order in which `drover history -o json` prints it.
    const act: Act = { time, endedAt, action, vms, from, to, requestedBy, end, message, reason, workflow };
    addTo(this.#acts, act);
    if (this.#acts.length > this.#full) {
      this.#acts = this.kept;
      this.#full = this.#acts.length + DROPPED_AFTER;
    }
    return act;
  }
}

const now = (): string => new Date(Date.now()).toISOString();
