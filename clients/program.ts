import { Command } from 'commander';
import { hasSources } from '../dev/paths.ts';
import packageJson from '../package.json' with { type: 'json' };
import { addGlobalOptions } from './cli/globals.ts';
import { examples } from './cli/options.ts';
import { optionTerm, withPlainErrors } from './cli/run-program.ts';
import { budgetsCommand } from './commands/budgets.ts';
import { changeCommand } from './commands/changes.ts';
import { disksCommand } from './commands/disks.ts';
import { drainCommand } from './commands/drain.ts';
import { doctorCommand, setupCommand, versionCommand } from './commands/drover/cluster-commands.ts';
import { completeCommand, completionCommand } from './commands/drover/completion.ts';
import { dashboardCommand } from './commands/drover/dashboard.ts';
import { devCommand } from './commands/drover/dev.ts';
import { workerCommand } from './commands/drover/worker.ts';
import { healCommand } from './commands/healing.ts';
import { machineTypesCommand } from './commands/machine-types.ts';
import {
  adoptCommand,
  attachCommand,
  detachCommand,
  releaseCommand,
  takeoverCommand,
} from './commands/membership-commands.ts';
import { operationsCommand } from './commands/operations.ts';
import {
  applyCommand,
  diffCommand,
  driftCommand,
  historyCommand,
  scaleCommand,
  statusCommand,
} from './commands/owner-commands.ts';
import { rolloutCommand } from './commands/rollout.ts';
import { schedulesCommand } from './commands/schedules.ts';
import { vmCommand } from './commands/vms.ts';

const GROUPS = {
  'Pools and replica sets': [
    applyCommand,
    diffCommand,
    statusCommand,
    dashboardCommand,
    scaleCommand,
    rolloutCommand,
    driftCommand,
    healCommand,
    historyCommand,
  ],
  'Members of a pool': [detachCommand, attachCommand, adoptCommand, takeoverCommand, releaseCommand],
  VMs: [
    vmCommand,
    operationsCommand,
    schedulesCommand,
    changeCommand,
    budgetsCommand,
    drainCommand,
    disksCommand,
    machineTypesCommand,
  ],
  'drover itself': [setupCommand, doctorCommand, workerCommand, devCommand, versionCommand],
};

/** The `drover` command with all of its subcommands. `name`: what users type to call it. */
export function droverProgram(name = 'drover'): Command {
  const program = withoutCompletion(name);
  program.addCommand(inherit(completionCommand(), program));
  program.addCommand(
    inherit(
      completeCommand(() => withoutCompletion(name)),
      program,
    ),
    { hidden: true },
  );
  return program;
}

const ONLY_WITH_SOURCES: [what: string, line: string][] = hasSources()
  ? [['Start everything on this machine: Temporal, Kubernetes, simulated KubeVirt, a worker', 'drover dev']]
  : [];

function withoutCompletion(name: string): Command {
  const program = addGlobalOptions(withPlainErrors(new Command(name)))
    .description('Manages fleets of KubeVirt virtual machines, as pools and replica sets, with Temporal workflows.')
    .version(packageJson.version, '--version', "print drover's version")
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, optionTerm })
    .addHelpText(
      'after',
      examples(
        ...ONLY_WITH_SOURCES,
        ['Make a pool of VMs and see it come up', 'drover apply -f pool.yaml && drover status --watch'],
        ['What it is doing, and why', 'drover status pool web'],
      ),
    );
  for (const [group, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(`${group}:`);
    for (const command of commands) program.addCommand(inherit(command(), program));
  }
  return program;
}

/** Copies inherited settings, such as that errors are thrown: `command()` does this, but `addCommand` doesn't. */
function inherit(command: Command, parent: Command): Command {
  withPlainErrors(command.copyInheritedSettings(parent));
  for (const child of command.commands) inherit(child, command);
  return command;
}
