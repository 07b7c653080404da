import { homedir } from 'node:os';

/**
 * Gives a user whom the machine does not know, and who has no `HOME`, the home that container runtimes give. Otherwise
 * each look into that user's home throws, such as for a kubeconfig that need not be there.
 */
export function ensureHome(env: NodeJS.ProcessEnv): void {
  try {
    homedir();
  } catch {
    env['HOME'] = '/';
  }
}
