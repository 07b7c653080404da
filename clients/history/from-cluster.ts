import { EVENT_REPORTER, NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { CoreEvents, VirtualMachineOperations, VirtualMachines, type Resource } from '../../api/resources.ts';
import { changesOf, type ChangeRecord } from '../../decisions/changes/change-record.ts';
import type { Act } from '../../decisions/history/act.ts';
import { ACTION_LABELS } from '../../decisions/power/action.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreUnseen } from '../../kubernetes/errors.ts';
import type { Revision } from '../pool/revisions.ts';
import { timeOfEvent, type CoreEvent } from './core-event.ts';

/** Whose history is meant, and which VMs are its own. */
export interface Subject {
  resource: Resource;
  namespace: string;
  name: string;
  isMember: (vm: string) => boolean;
}

/**
 * Returns what the cluster alone tells, for users who can't reach Temporal: drover's Events, which the API server keeps
 * for an hour by default, operations that name the VMs or their owner, changes that a VM has on record, and when each
 * kept template was made. Leaves out what the user may not read.
 */
export async function actsInCluster(kube: KubeClient, subject: Subject, revisions: Revision[]): Promise<Act[]> {
  const { namespace, name } = subject;
  const [events, operations, changes] = await Promise.all([
    ignoreUnseen(eventsIn(kube, namespace)),
    ignoreUnseen(kube.list<StoredOperation>(VirtualMachineOperations, { namespace })),
    subject.resource === VirtualMachines ? ignoreUnseen(changesIn(kube, namespace, name)) : [],
  ]);
  return [
    ...(events ?? []).flatMap((event) => actOfEvent(event, subject)),
    ...(changes ?? []).map(([vm, change]) => actOfChange(vm.name, change)),
    ...(operations?.items ?? []).flatMap((operation) => actOfOperation(operation, subject)),
    ...revisions.flatMap(actsOfRevision),
  ];
}

/** Returns the VMs that `drover drain start` has shut down: no workflow knows of them. */
export const evictionsInCluster = async (kube: KubeClient, subject: Subject): Promise<Act[]> =>
  ((await ignoreUnseen(eventsIn(kube, subject.namespace))) ?? [])
    .filter(({ reason }) => reason === 'Evicted')
    .flatMap((event) => actOfEvent(event, subject));

/** Leaves out Events of changes: the VMs have these on record, and those without an Event as well. */
async function eventsIn(kube: KubeClient, namespace: string | undefined): Promise<Stored<CoreEvent>[]> {
  const fieldSelector = `reportingComponent=${EVENT_REPORTER}`;
  const { items } = await kube.list<CoreEvent>(CoreEvents, { namespace, fieldSelector });
  return items.filter(({ reason }) => reason !== 'Patched');
}

/** Returns what VMs, or the VM of this name, have on record of changes by operations. */
async function changesIn(
  kube: KubeClient,
  namespace: string | undefined,
  name?: string,
): Promise<[Stored['metadata'], ChangeRecord][]> {
  const fields = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const { items } = await kube.list(VirtualMachines, { namespace, metadataOnly: true, ...fields });
  return items.flatMap(({ metadata }) => changesOf(metadata.annotations).map((change) => [metadata, change] as const));
}

/** An Event contains this part of the name of a workflow. */
const INSTANCE_LENGTH = 128;

/**
 * Returns the acts of an operation that VMs, and Events on them, show, the oldest first. Names VMs by `namespace/name`,
 * as runs do.
 */
export async function actsOfRunInCluster(
  kube: KubeClient,
  { metadata: { namespace, uid }, spec }: StoredOperation,
  runId: string,
): Promise<Act[]> {
  const [events, changes] = await Promise.all([
    eventsIn(kube, namespace),
    spec.action === 'Patch' ? changesIn(kube, namespace) : [],
  ]);
  const acts = events
    .filter(({ reportingInstance }) => reportingInstance === runId.slice(0, INSTANCE_LENGTH))
    .map((event) => actFrom(event, [`${event.metadata.namespace}/${event.involvedObject.name}`]));
  const ofIt = changes.filter(([, { id }]) => id === uid);
  const changed = ofIt.map(([vm, change]) => actOfChange(`${vm.namespace}/${vm.name}`, change, runId));
  return [...changed, ...acts].toSorted((a, b) => a.time.localeCompare(b.time));
}

const actOfChange = (vm: string, { at, by, reason, kept }: ChangeRecord, workflow = ''): Act =>
  act({
    time: at,
    endedAt: at,
    action: ACTION_LABELS.Patch.verb,
    vms: [vm],
    requestedBy: by,
    end: kept === undefined ? ACTION_LABELS.Patch.done : 'Left',
    message: kept ?? reason ?? null,
    workflow,
  });

function actOfEvent(event: CoreEvent, { resource, name, isMember }: Subject): Act[] {
  const { involvedObject: about, action } = event;
  if (action === NOTICE_ACTION) return [];
  const isOfVm = about.kind === VirtualMachines.kind && isMember(about.name);
  if (!isOfVm && !(about.kind === resource.kind && about.name === name)) return [];
  return [actFrom(event, isOfVm ? [about.name] : [])];
}

function actFrom(event: CoreEvent, vms: string[]): Act {
  const { type, action, reason = '', message, reportingInstance } = event;
  const time = timeOfEvent(event);
  return act({
    time,
    endedAt: time,
    action: wordOf(action ?? reason, reason),
    vms,
    end: type === 'Warning' ? 'Failed' : 'Done',
    message: message ?? null,
    workflow: reportingInstance ?? '',
  });
}

/** As workflows record it: Events have words of Kubernetes' kind, such as `ScaleOut`. */
const wordOf = (action: string, reason: string): string =>
  reason.endsWith('Promote')
    ? 'promote standby'
    : (WORDS[action] ?? action.replaceAll(/\B[A-Z]/g, ' $&').toLowerCase());
const WORDS: Partial<Record<string, string>> = { ScaleOut: 'create', ScaleIn: 'delete', Drain: 'evict' };

const ENDS = { Complete: 'Done', Failed: 'Failed' } as const;

function actOfOperation({ metadata, spec, status }: StoredOperation, { resource, name, isMember }: Subject): Act[] {
  const { names = [], owner } = spec.vms;
  const vms = names.filter(isMember);
  const isOfOwner = owner?.kind === resource.kind && owner.name === name;
  if (vms.length === 0 && !isOfOwner) return [];
  const over = status?.conditions?.find(({ type, status }) => status === 'True' && type in ENDS);
  return [
    act({
      time: status?.startTime ?? metadata.creationTimestamp,
      endedAt: status?.completionTime ?? null,
      action: spec.action.toLowerCase(),
      vms,
      requestedBy: spec.requestedBy ?? null,
      end: over === undefined ? 'InProgress' : ENDS[over.type as keyof typeof ENDS],
      message: spec.reason ?? null,
      workflow: status?.workflowId ?? '',
    }),
  ];
}

/** A template that was set again, by an undo or another change, has two: nothing tells why it was set at first. */
function actsOfRevision({ hash, createdAt, usedAt, requestedBy, changeCause }: Revision): Act[] {
  const setAt = (time: string, known: Pick<Act, 'message' | 'requestedBy'>): Act =>
    act({ time, endedAt: time, action: 'template', to: hash, end: 'Done', ...known });
  const last = setAt(usedAt, { requestedBy, message: changeCause });
  return usedAt === createdAt ? [last] : [setAt(createdAt, { requestedBy: null, message: null }), last];
}

const act = (known: Pick<Act, 'time' | 'endedAt' | 'action' | 'end' | 'message'> & Partial<Act>): Act => ({
  vms: [],
  from: null,
  to: null,
  requestedBy: null,
  reason: null,
  workflow: '',
  ...known,
});
