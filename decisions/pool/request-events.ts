import type { HandledRequest } from '../../api/pool/pool.ts';
import type { ActEnd, BegunAct } from '../history/act.ts';
import { formatNames } from '../lib/names.ts';
import type { OwnerEvent } from '../owners/events.ts';

type ReportedRequest = NonNullable<OwnerEvent['request']>;
type Handled = readonly HandledRequest[] | undefined;

/** Events about the requests that the new status answers, and the stored one does not. `what`: such as `rollout`. */
export function requestEvents(what: string, stored: Handled, now: Handled): OwnerEvent[] {
  const known = new Set((stored ?? []).map(({ digest }) => digest));
  return (now ?? []).filter(({ digest }) => !known.has(digest)).map((request) => eventOf(what, request));
}

function eventOf(what: string, request: HandledRequest): OwnerEvent {
  const { action, vms, by, outcome, message } = request;
  const about = { request: { what, ...request } };
  const reason = request.reason === undefined ? '' : ` (${request.reason})`;
  if (what === 'membership' && outcome === 'Done') {
    const note = `${message[0]!.toUpperCase()}${message.slice(1)}, asked by ${by}${reason}`;
    const moved = action === 'release' ? 'SuccessfulRelease' : 'SuccessfulAdopt';
    return { type: 'Normal', reason: moved, action: 'ChangeMembers', note, ...about };
  }
  const of = vms === undefined ? '' : ` of ${formatNames(vms)}`;
  const verb = what === 'rollout' && action !== '' ? `rollout ${action}` : verbOf(request, what);
  const note = `${by} requested "${verb}"${of}${reason}: ${message}`;
  return outcome === 'Done'
    ? { type: 'Normal', reason: 'RequestDone', action: 'Request', note, ...about }
    : { type: 'Warning', reason: 'RequestRefused', action: 'Request', note, ...about };
}

function verbOf({ action }: Pick<HandledRequest, 'action'>, what: string): string {
  if (action === '') return `${what} request`;
  return what === 'healing' ? `heal ${action}` : action;
}

/** A request as `drover history` shows it: how `drover` calls it, of which VMs, by whom, and how it ended. */
export function actOfRequest({
  what,
  action,
  vms = [],
  by,
  at,
  reason,
  outcome,
  message,
}: ReportedRequest): [BegunAct, ActEnd] {
  return [
    { action: verbOf({ action }, what), vms, requestedBy: by, time: at },
    { end: outcome, message: outcome === 'Done' ? reason : message },
  ];
}
