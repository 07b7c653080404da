import { Option, type Command } from 'commander';
import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import type { Transition, TransitionScope } from '../../decisions/machine-types/transition.ts';
import type { DataFormat } from '../cli/data.ts';
import { UsageError } from '../cli/failure.ts';
import { dryRunOption, reasonOption, windowOption } from '../cli/options.ts';
import { parseFlag } from '../cli/parse-flag.ts';
import {
  parseCountOrPercent,
  parseCount,
  parsePositiveDuration,
  parseBoolean,
  type DryRun,
} from '../cli/parse-values.ts';
import { windowsOf } from '../operations/windows.ts';
import { usernameIn } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { UNKNOWN } from './spec.ts';

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

/** How to restart VMs. */
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

const several = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

export const addScopeOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--which-matches-glob <glob>',
        "glob of the old machine types, as Go's path.Match reads it; quote it for the shell",
      ).makeOptionMandatory(),
    )
    .option('-A, --all-namespaces', 'in all namespaces, as without -n')
    .option('-l, --label-selector <selector>', 'only VMs with these labels, such as app=web,tier!=db')
    .option('--name <name>', 'only this VM, as NAME or NAMESPACE/NAME (repeatable)', several)
    .option('--exclude <glob>', 'no VM with such a name, as NAME or NAMESPACE/NAME (repeatable)', several)
    .addOption(
      new Option('--only <state>', 'only VMs that run, or only those that do not').choices(['running', 'stopped']),
    )
    .option(
      '--to <type>',
      "the new machine type; without it the type is cleared, and the default applies: that of the VM's preference, or of the cluster",
    );

const MAX_RESTARTS = '5%';
const MAX_FAILURES = 0;
const DEADLINE_MS = 600_000;

export const addRestartOptions = (command: Command): Command =>
  command
    .option(
      '--restart-now',
      'restart the VMIs that have the old type, a few at a time; without it they wait until their owners restart them: a reboot inside the guest is not enough',
    )
    .addOption(
      new Option(
        '--max-restarts <n>',
        `how many of the running VMs, or how many percent, may be not ready at once, whatever the cause; at least 1 (default: ${MAX_RESTARTS})`,
      ).argParser(parseCountOrPercent),
    )
    .addOption(
      new Option(
        '--max-failures <n>',
        `stop after more failed restarts than this (default: ${MAX_FAILURES})`,
      ).argParser(parseCount),
    )
    .addOption(
      new Option('--deadline <duration>', 'how long a VM may take to be ready again (default: 10m)').argParser(
        parsePositiveDuration,
      ),
    )
    .addOption(windowOption('restart'))
    .option('--force', 'continue though the new type matches the glob too, or no node has it')
    .addOption(reasonOption());

export const addFollowOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--wait [boolean]', 'follow it; the exit code says whether all was done')
        .argParser(parseBoolean)
        .default(true),
    )
    .option('--no-wait', 'return as soon as it has begun')
    .addOption(dryRunOption())
    .addOption(new Option('-o, --output <format>', 'print the operation that would be made').choices(['json', 'yaml']));

/** Returns the transition that the flags ask for. Throws `UsageError` for invalid flags. */
export async function transitionOf(session: Session, flags: ScopeFlags & RestartFlags): Promise<Transition> {
  const {
    whichMatchesGlob: glob,
    allNamespaces = false,
    labelSelector,
    name: names = [],
    exclude = [],
    only = null,
    to = null,
  } = flags;
  const [{ labelSelectorOf }, { globMatcher }] = await Promise.all([
    import('../cli/label-selector.ts'),
    import('../../decisions/lib/glob.ts'),
  ]);
  const someGlob = (text: string): ReturnType<typeof globMatcher> => globMatcher(notEmpty(text));
  const matches = parseFlag('--which-matches-glob', glob, someGlob);
  for (const one of exclude) parseFlag('--exclude', one, someGlob);
  for (const name of names) parseFlag('--name', name, vmName);
  if (to !== null && matches(parseFlag('--to', to, machineType)))
    throw new UsageError(`--to ${to}: it matches ${glob} itself`);
  const scope: TransitionScope = {
    glob,
    namespaces: allNamespaces ? null : givenNamespace(session),
    labelSelector: labelSelector === undefined ? null : parseFlag('--label-selector', labelSelector, labelSelectorOf),
    names,
    exclude,
    only,
    undoes: null,
  };
  return { scope, to, ...(await restartsOf(session, flags)) };
}

/**
 * Returns a transition that gives VMs back the machine types that the operation with this name or UID has changed, in
 * the given namespace if there is one.
 */
export const undoOf = async (session: Session, id: string, flags: RestartFlags): Promise<Transition> => ({
  scope: {
    glob: '*',
    namespaces: givenNamespace(session),
    labelSelector: null,
    names: [],
    exclude: [],
    only: null,
    undoes: id,
  },
  to: null,
  ...(await restartsOf(session, flags)),
});

const givenNamespace = ({ globals: { namespace } }: Session): string[] | null =>
  namespace === undefined ? null : [namespace];

async function restartsOf(session: Session, flags: RestartFlags): Promise<Omit<Transition, 'scope' | 'to'>> {
  const { restartNow = false, maxRestarts, maxFailures, deadline, window, force = false, reason = null } = flags;
  const ofRestarts = {
    '--max-restarts': maxRestarts,
    '--max-failures': maxFailures,
    '--deadline': deadline,
    '--window': window,
  };
  const [given] = Object.entries(ofRestarts).find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined && !restartNow)
    throw new UsageError(`${given} is about restarts by drover: give --restart-now too`);
  const windows = await windowsOf(window ?? []);
  const pace = {
    maxRestarts: maxRestarts ?? MAX_RESTARTS,
    maxFailures: maxFailures ?? MAX_FAILURES,
    deadlineMs: deadline ?? DEADLINE_MS,
  };
  const requestedBy = (await usernameIn(() => session.kube())) ?? UNKNOWN;
  return { restartNow, ...pace, windows, force, templates: true, requestedBy, reason };
}

/**
 * Refuses an empty glob: no machine type or name matches it, and it probably comes from an unset variable in a script.
 */
function notEmpty(glob: string): string {
  if (glob !== '') return glob;
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
