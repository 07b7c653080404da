import { EVENT_REPORTER, NOTICE_ACTION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { CoreEvents } from '../../../api/resources.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { ACT_ENDS } from '../../../decisions/history/ends.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { sentenceOf } from '../../cli/failure.ts';
import { timeOfEvent, type CoreEvent } from '../../history/core-event.ts';
import { actsInCluster, type Subject } from '../../history/from-cluster.ts';
import { grouped } from '../../history/table.ts';
import type { Revision } from '../../pool/revisions.ts';
import type { HistoryEntry } from '../contract/requests.ts';

const MOST = 200;

interface ReadHistory {
  history: HistoryEntry[];
  unknown: string[];
}

/**
 * What drover did, by what the cluster keeps of it, and what others tell of the objects of this name; the newest first.
 */
export async function readHistory(kube: KubeClient, subject: Subject, revisions: Revision[]): Promise<ReadHistory> {
  const unknown: string[] = [];
  const [acts, events] = await Promise.all([
    actsInCluster(kube, subject, revisions).catch((error: unknown) => missing(unknown, error)),
    eventsOf(kube, subject).catch((error: unknown) => missing(unknown, error)),
  ]);
  const history = newestFirst([...grouped(acts).map(entryOf), ...events]).slice(0, MOST);
  return { history, unknown };
}

/** What an object tells of its beginning itself: Events are gone after an hour. */
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

function entryOf({ time, action, vms, from, to, requestedBy, end, message }: Act): HistoryEntry {
  const revisions = to === null ? '' : ` ${from === null ? '' : `from ${from} `}to ${to}`;
  const who = requestedBy === null || requestedBy === 'drover' ? '' : `, requested by ${requestedBy}`;
  const of = vms.length === 0 ? '' : ` of ${formatNames(vms)}`;
  return {
    at: time,
    by: 'drover',
    tone: ACT_ENDS[end].is === 'bad' ? 'warning' : 'normal',
    what: end,
    sentence: `${action}${of}${revisions}${who}${message === null || message === '' ? '' : `: ${message}`}`,
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
