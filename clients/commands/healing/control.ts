import type { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { controlCommand } from '../control.ts';

const controls = () => import('../../healing/control.ts');

export const healPauseCommand = (): Command =>
  controlCommand('pause', async () => {
    const { Healing, pause } = await controls();
    return [Healing, pause];
  })
    .description('replace no sick VM until `resume`; rollouts and scaling go on')
    .addHelpText('after', examples(['Stop for a while', 'drover heal pause pool web --reason "the storage is slow"']));

export const healResumeCommand = (): Command =>
  controlCommand('resume', async () => {
    const { Healing, resume } = await controls();
    return [Healing, resume];
  })
    .description('go on after a pause')
    .addHelpText('after', examples(['Go on', 'drover heal resume pool web']));
