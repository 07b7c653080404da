import { InvalidArgumentError, Option, type Command } from 'commander';

/** The flags that every command takes, before or after its own name. */
export interface Globals {
  namespace?: string;
  context?: string;
  kubeconfig?: string;
  cluster: string;
  address?: string;
  temporalNamespace?: string;
  state?: string;
}

const CLUSTER = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

export function addGlobalOptions(program: Command): Command {
  return program
    .addOption(
      new Option('-n, --namespace <name>', 'namespace in Kubernetes (default: the namespace of the context)').argParser(
        nameLike(NAMESPACE, ' and -'),
      ),
    )
    .option('--context <name>', 'context of the kubeconfig (default: $DROVER_CONTEXT or its current one)')
    .option('--kubeconfig <file>', 'kubeconfig (default: $KUBECONFIG, a running embedded stack, or ~/.kube/config)')
    .addOption(
      new Option('--cluster <name>', "drover's name for the cluster, in workflow ids and the task queue")
        .env('DROVER_CLUSTER')
        .default('default')
        .argParser(nameLike(CLUSTER, ', - and .')),
    )
    .addOption(
      new Option(
        '--address <host:port>',
        "Temporal's address (default: $TEMPORAL_ADDRESS, a running embedded stack, or localhost:7233)",
      ).argParser((text) => {
        if (/^[^\s/]+$/.test(text)) return text;
        throw new InvalidArgumentError('Give a host and a port, such as 127.0.0.1:7233.');
      }),
    )
    .option('--temporal-namespace <name>', "Temporal's namespace (default: $TEMPORAL_NAMESPACE or default)")
    .option('--state <dir>', 'state folder of the embedded stack (default: $DROVER_STATE)');
}

/**
 * A namespace's name in Kubernetes. An empty one would mean all namespaces in some places, and the default in others.
 */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const nameLike =
  (pattern: RegExp, signs: string) =>
  (value: string): string => {
    if (pattern.test(value)) return value;
    throw new InvalidArgumentError(`Give lower-case letters, digits${signs}, with a letter or digit at both ends.`);
  };
