import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { controlCommand } from '../control.ts';
import { healNowCommand, healSkipCommand } from './cycle.ts';
import { healStatusCommand } from './status.ts';

/** `drover heal` and its commands. */
export function healCommand(): Command {
  const heal = new Command('heal')
    .description("follow and control the autohealing of a pool's VMs")
    .addHelpText(
      'after',
      examples(
        ['Which VMs are replaced, why, and when next', 'drover heal status'],
        ['Replace none for a while', 'drover heal pause pool web --reason "the storage is slow"'],
        ['The cause is gone: do not wait for the delay', 'drover heal now pool web web-3'],
      ),
    );
  for (const command of [
    healStatusCommand(),
    healPauseCommand(),
    healResumeCommand(),
    healNowCommand(),
    healSkipCommand(),
  ])
    heal.addCommand(command);
  return heal;
}

const controls = () => import('../../healing/pause-and-resume.ts');

const healPauseCommand = (): Command =>
  controlCommand('pause', async () => {
    const { Healing, pause } = await controls();
    return [Healing, pause];
  })
    .description('replace no unhealthy VM until `resume`; rollouts and scaling continue')
    .addHelpText('after', examples(['Stop for a while', 'drover heal pause pool web --reason "the storage is slow"']));

const healResumeCommand = (): Command =>
  controlCommand('resume', async () => {
    const { Healing, resume } = await controls();
    return [Healing, resume];
  })
    .description('continue after a pause')
    .addHelpText('after', examples(['Go on', 'drover heal resume pool web']));
