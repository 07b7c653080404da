import { Argument, Command } from 'commander';
import { examples } from '../../cli/options.ts';

type Shell = 'bash' | 'zsh' | 'fish';

export const completionCommand = (): Command =>
  new Command('completion')
    .description('print the script with which a shell completes commands, flags, kinds and names')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
kubectl completes \`kubectl drover\` by itself if \`kubectl_complete-drover\` is on the PATH, as the npm package has it.
${examples(
  ['In ~/.bashrc', 'source <(drover completion bash)'],
  ['In ~/.zshrc, after compinit', 'source <(drover completion zsh)'],
  ['For fish, once', 'drover completion fish > ~/.config/fish/completions/drover.fish'],
)}`,
    )
    .action(async (shell: Shell) => {
      const { script } = await import('@bomb.sh/tab');
      // It prints the script.
      script(shell, 'drover', 'drover');
    });

/**
 * What the script calls at each press of Tab: `drover complete -- scale pool ""`. `program`: makes the commands that
 * are completed.
 */
export const completeCommand = (program: () => Command): Command =>
  new Command('complete')
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (args: string[]) => {
      const { complete } = await import('../../completion/complete.ts');
      await complete(program(), args);
    });
