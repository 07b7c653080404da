import { EVENT_REPORTER, NOTICE_ACTION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { CoreEvents, VirtualMachines } from '../../../api/resources.ts';
import { ITSELF, type Act } from '../../../decisions/history/act.ts';
import { ACT_ENDS } from '../../../decisions/history/ends.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { sentenceOf } from '../../cli/failure.ts';
import { timeOfEvent, type CoreEvent } from '../../history/core-event.ts';
import { actsInCluster, type Subject } from '../../history/from-cluster.ts';
import { actsOnRecord } from '../../history/history.ts';
import { causeIn, grouped } from '../../history/table.ts';
import type { Revision } from '../../pool/revisions.ts';
import type { Session } from '../../session/session.ts';
import type { HistoryEntry } from '../contract/requests.ts';
import { soon, type Kept } from './kept.ts';
import type { Read } from './paged.ts';

const MOST = 200;

interface ReadHistory {
  history: HistoryEntry[];
  unknown: string[];
}

/**
 * What drover did, from Temporal or else from what the cluster keeps, and what others report of the objects of this
 * name; the newest first. `kept`: what was read from Temporal a moment ago.
 */
export async function readHistory(
  session: Session,
  subject: Subject,
  revisions: Revision[],
  kept: Kept<Read<Act>>,
): Promise<ReadHistory> {
  const unknown: string[] = [];
  const kube = await session.kube();
  const recorded = async (): Promise<Act[]> => {
    if (!(await session.knowsTemporal())) return actsInCluster(kube, subject, revisions);
    const { resource, namespace, name } = subject;
    const read = await soon(kept.get(`${resource.plural}/${namespace}/${name}`, () => recordOf(session, subject)));
    unknown.push(...(read?.notes ?? ['Temporal’s records can’t be read; this is what the cluster alone shows']));
    return read?.lines ?? actsInCluster(kube, subject, revisions);
  };
  const [acts, events] = await Promise.all([
    recorded().catch((error: unknown) => missing(unknown, error)),
    eventsOf(kube, subject).catch((error: unknown) => missing(unknown, error)),
  ]);
  const isOfVm = subject.resource === VirtualMachines;
  const history = newestFirst([...grouped(acts).map((act) => entryOf(act, isOfVm)), ...events]).slice(0, MOST);
  return { history, unknown };
}

async function recordOf(session: Session, subject: Subject): Promise<Read<Act>> {
  const notes: string[] = [];
  const lines = await actsOnRecord(session, subject, { since: null, note: (sentence) => void notes.push(sentence) });
  return { lines, notes };
}

/** When the object was created, by the object itself: Events are gone after an hour. */
export const creationOf = (what: string, { creationTimestamp: at }: Stored['metadata']): HistoryEntry => ({
  at,
  by: 'Kubernetes',
  tone: 'normal',
  what: 'Created',
  sentence: `${what} was created`,
  count: 1,
});

export const newestFirst = (entries: readonly HistoryEntry[]): HistoryEntry[] =>
  entries.toSorted((a, b) => b.at.localeCompare(a.at));

function missing(unknown: string[], error: unknown): [] {
  unknown.push(`its history is incomplete: ${sentenceOf(error)}`);
  return [];
}

/** `isOfVm`: whether the page is about the only VM. */
function entryOf(act: Act, isOfVm: boolean): HistoryEntry {
  const { time, action, vms, from, to, requestedBy, end, message, reason } = act;
  const isDone = end === 'Done';
  // Words such as `Restarted` say what was done.
  const isSaid = isDone || (ACT_ENDS[end].is === 'well' && end !== 'Requested');
  const names = isOfVm || vms.length === 0 ? '' : formatNames(vms);
  const change = action === 'template' ? `changed to revision ${to}` : [from && `from ${from}`, to && `to ${to}`];
  const by = requestedBy === null || requestedBy === ITSELF ? '' : `requested by ${requestedBy}`;
  const what = [isSaid ? names : [action, names && `of ${names}`], change].flat().filter(Boolean).join(' ');
  const sentence = [[what, by].filter(Boolean).join(', '), message || causeIn(reason)].filter(Boolean).join(': ');
  return {
    at: time,
    by: 'drover',
    tone: ACT_ENDS[end].is === 'bad' ? 'warning' : 'normal',
    what: isDone ? `${action.charAt(0).toUpperCase()}${action.slice(1)}` : end,
    sentence,
    count: 1,
  };
}

interface Event extends CoreEvent {
  count?: number;
  series?: { count?: number; lastObservedTime?: string };
  source?: { component?: string };
}

/** Events of others than drover, whose own are among its acts, and what it told users of. */
async function eventsOf(kube: KubeClient, { namespace, name }: Subject): Promise<HistoryEntry[]> {
  const { items } = await kube.list<Event>(CoreEvents, { namespace, fieldSelector: `involvedObject.name=${name}` });
  return items
    .filter(({ reportingComponent, action }) => reportingComponent !== EVENT_REPORTER || action === NOTICE_ACTION)
    .map((event) => {
      const { type, reason = '', message = '', series, count, reportingComponent, source } = event;
      const by = reportingComponent === EVENT_REPORTER ? 'drover' : reportingComponent || source?.component;
      return {
        at: timeOfEvent(event),
        by: by || 'Kubernetes',
        tone: type === 'Warning' ? 'warning' : 'normal',
        what: reason,
        sentence: message,
        count: series?.count ?? count ?? 1,
      };
    });
}
