import type { Action, ActionName, ObjectRef } from './fleet.ts';

/**
 * The token of this start: the address that the command prints is `/#token=TOKEN`. The page posts `Login` to
 * `/api/login` once, gets a cookie (`HttpOnly`, `SameSite=Strict`), and removes the fragment. 204, or 401.
 */
export interface Login {
  token: string;
}

/** `POST /api/actions`, as `application/json`. */
export interface ActionRequest {
  action: ActionName;
  about: ObjectRef;
  /** Of `heal.now` and `heal.skip`: which VMs. */
  vms?: string[];
  /** Of `rollout.promote`: past all steps. */
  full?: boolean;
  /** Of `rollout.undo`: number or hash of the revision; else the last one that all VMs had. */
  revision?: string;
  /** Of `drain.start`: shut down the VMs that `NodeDetails.shutDown` names. */
  shutDown?: boolean;
  /** Why; goes where the command's `--reason` goes. */
  reason?: string;
  /** The name of the object as the user typed it: for actions with `isTyped`. */
  confirm?: string;
}

/** The answer to an action. Sentences as the command prints them. */
export type ActionResult = { ok: true; sentence: string; notes: string[] } | Fault;

/** Any other answer than 200 has this body. */
export interface Fault {
  ok: false;
  sentence: string;
}

export interface Fact {
  label: string;
  value: string;
}

/** What drover did to a VM, or KubeVirt and Kubernetes reported about it. */
export interface HistoryEntry {
  at: string;
  /** `drover` or for example `KubeVirt`. */
  by: string;
  tone: 'normal' | 'warning';
  /** Such as `Healed` or `Migrated`. */
  what: string;
  sentence: string;
  /** Repeats; 1 if it happened once. */
  count: number;
}

export interface Disk {
  name: string;
  claim: string | null;
  /** Whether the disk stays when the VM leaves; null if drover has no say. */
  isKept: boolean | null;
  size: string | null;
  storageClass: string | null;
  phase: string | null;
}

/** `GET /api/vms/NAMESPACE/NAME`: a VM, or a VMI of a set of VMIs. 404 with `Fault` if there is none. */
export interface VmDetails {
  namespace: string;
  name: string;
  /** The id of its card, such as `pool/default/web`. */
  card: string;
  /** KubeVirt's word, such as `Running` or `CrashLoopBackOff`. */
  status: string;
  isReady: boolean;
  /** What it waits for if it is not as its owner wants it, and since when; null if it is, or that is not known. */
  wait: { sentence: string; since: string | null; isLate: boolean } | null;
  /** Why it is as it is: the first is the most likely cause. Empty for a VM that is well. */
  explanation: string[];
  facts: Fact[];
  disks: Disk[];
  /** The newest first. */
  history: HistoryEntry[];
  /** What could not be read, as sentences. */
  unknown: string[];
  actions: Action[];
  /** Its owner's workflow in Temporal's Web UI; null if its address is unknown. */
  temporalUrl: string | null;
}

/** `GET /api/owners/KIND/NAMESPACE/NAME`, with `KIND` as `OwnerCard.kind`. */
export interface OwnerDetails {
  /** What drover did, and to which of its VMs; the newest first. */
  history: HistoryEntry[];
  unknown: string[];
  temporalUrl: string | null;
}

/** Something that an operation did to one VM, or that is under way. */
export interface LogEntry {
  at: string;
  /** Null while it is under way. */
  endedAt: string | null;
  /** `NAMESPACE/NAME`, or `pool NAMESPACE/NAME` of a pool whose template was changed. */
  vm: string;
  /** Such as `restart`, with what it changes from and to if that is known. */
  what: string;
  /** Such as `Restarted`, `Failed` or `Deferred`. */
  end: string;
  tone: 'good' | 'bad' | 'warn' | 'busy';
  message: string | null;
}

/** A part of many lines: `page` of `pages`, which count from 1, and how many there are in all. */
export interface Paged<Line> {
  lines: Line[];
  page: number;
  pages: number;
  count: number;
  /** What is to be said beside, such as that not all is known. */
  notes: string[];
}

/**
 * `GET /api/logs/NAMESPACE/NAME/PAGE/WORDS`, the newest first; `-` for no namespace. Words that a line has, or none.
 */
export type OperationLog = Paged<LogEntry> & { temporalUrl: string | null };

/** `GET /api/nodes/NAME`: VMIs left on a node, and what each waits for. 404 with `Fault` if the node does not exist. */
export interface NodeDetails {
  node: string;
  isDrained: boolean;
  /** Why it is drained, if that was said. */
  reason: string | null;
  /** Which VMs a drain shuts down, whatever the budgets of their pools; null if none. */
  shutDown: string | null;
  items: {
    namespace: string;
    name: string;
    owner: string | null;
    state: string;
    needsPerson: boolean;
    message: string;
  }[];
}
