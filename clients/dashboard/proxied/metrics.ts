import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Refusal } from '../server/refusal.ts';
import type { UserDashboards } from './user-dashboards.ts';

/** Prometheus metrics of a dashboard for many users; they name the cluster, as those of workers do, and no user. */
export function proxiedMetrics(cluster: string, dashboards: Pick<UserDashboards, 'users' | 'clients'>) {
  const registry = new Registry();
  registry.setDefaultLabels({ cluster });
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('drover_dashboard_users', 'Users whose fleets are followed.', () => dashboards.users);
  gauge('drover_dashboard_streams', 'Browsers that follow them.', () => dashboards.clients);
  const refused = new Counter({
    name: 'drover_dashboard_refused_requests_total',
    help: 'Requests refused before Kubernetes was asked, by the status of the answer: 401 is a peer or a user without proof.',
    labelNames: ['status'],
    registers,
  });
  return {
    text: () => registry.metrics(),
    refused: ({ status }: Refusal) => refused.inc({ status }),
  };
}
