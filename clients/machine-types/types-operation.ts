import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import type { AnyOperation, OperationSpec } from '../../api/operations/operation.ts';
import { globMatcher } from '../../decisions/lib/glob.ts';
import { UsageError } from '../cli/failure.ts';
import { labelSelectorOf } from '../cli/label-selector.ts';
import { type DryRun, parseFlag } from '../cli/parse-values.ts';
import type { DataFormat } from '../cli/print.ts';
import { operationFor } from '../operations/make.ts';
import type { Session } from '../session/session.ts';

/** Which VMs to change, and to which machine type. */
export interface ScopeFlags {
  whichMatchesGlob: string;
  allNamespaces?: boolean;
  labelSelector?: string;
  name?: string[];
  exclude?: string[];
  only?: 'running' | 'stopped';
  to?: string;
}

export interface RestartFlags {
  restartNow?: boolean;
  maxRestarts?: IntOrPercent;
  maxFailures?: number;
  deadline?: number;
  window?: string[];
  force?: boolean;
  reason?: string;
}

/** What a command does with the transition. */
export interface FollowFlags {
  wait: boolean;
  dryRun: DryRun;
  output?: DataFormat;
}

const MAX_RESTARTS = '5%';
const MAX_FAILURES = 0;
const DEADLINE_MS = 600_000;

/** Returns the operation that the flags ask for; names may still have namespaces. Throws `UsageError`. */
export async function typesOperation(session: Session, flags: ScopeFlags & RestartFlags): Promise<AnyOperation> {
  const {
    whichMatchesGlob: from,
    allNamespaces = false,
    labelSelector,
    name: names = [],
    exclude = [],
    only,
    to,
  } = flags;
  const matches = parseFlag('--which-matches-glob', from, someGlob);
  for (const one of exclude) parseFlag('--exclude', one, someGlob);
  for (const name of names) parseFlag('--name', name, vmName);
  if (to !== undefined && matches(parseFlag('--to', to, machineType)))
    throw new UsageError(`--to ${to}: it matches ${from} itself`);
  const selector = labelSelector === undefined ? {} : parseFlag('--label-selector', labelSelector, labelSelectorOf);
  const vms: OperationSpec['vms'] = {
    ...(names.length === 0 ? {} : { names }),
    ...(names.length > 0 && labelSelector === undefined ? {} : { selector }),
    ...(only === undefined ? {} : { runState: only === 'running' ? 'Running' : 'Stopped' }),
    ...(exclude.length === 0 ? {} : { exclude }),
  };
  const machineTypes = { from, ...(to === undefined ? {} : { to }) };
  return restarting(session, flags, {
    namespace: allNamespaces ? undefined : session.globals.namespace,
    vms,
    machineTypes,
  });
}

/**
 * Returns an operation that gives VMs back the machine types that the operation with this name or UID has changed, in
 * the given namespace if there is one.
 */
export const undoOperation = (session: Session, undoes: string, flags: RestartFlags): Promise<AnyOperation> =>
  restarting(session, flags, {
    namespace: session.globals.namespace,
    vms: { selector: {} },
    machineTypes: { undoes },
  });

interface Change {
  namespace: string | undefined;
  vms: OperationSpec['vms'];
  machineTypes: NonNullable<OperationSpec['machineType']>;
}

async function restarting(
  session: Session,
  { restartNow = false, maxRestarts, maxFailures, deadline, window, force = false, reason }: RestartFlags,
  { namespace, vms, machineTypes }: Change,
): Promise<AnyOperation> {
  const ofRestarts = {
    '--max-restarts': maxRestarts,
    '--max-failures': maxFailures,
    '--deadline': deadline,
    '--window': window,
  };
  const [given] = Object.entries(ofRestarts).find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined && !restartNow)
    throw new UsageError(`${given} is about restarts by drover: give --restart-now too`);
  const how = { ...(restartNow ? { restart: true } : {}), ...(force ? { force } : {}) };
  return operationFor(session, {
    namespace,
    action: 'MachineType',
    vms,
    machineType: { ...machineTypes, ...how },
    atOnce: maxRestarts ?? MAX_RESTARTS,
    maxFailures: maxFailures ?? MAX_FAILURES,
    deadline: deadline ?? DEADLINE_MS,
    window,
    reason,
  });
}

/** Refuses an empty glob: nothing matches it, and it probably comes from an unset variable in a script. */
function someGlob(glob: string): ReturnType<typeof globMatcher> {
  if (glob !== '') return globMatcher(glob);
  throw new RangeError('"" is not a valid glob: it would match nothing');
}

const VM_NAME = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

function vmName(text: string): string {
  if (VM_NAME.test(text)) return text;
  throw new RangeError(`${JSON.stringify(text)} is not a VM: write NAME or NAMESPACE/NAME`);
}

function machineType(text: string): string {
  if (/^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$/.test(text)) return text;
  throw new RangeError(`${JSON.stringify(text)} is not a machine type such as pc-q35-rhel9.2.0`);
}
