import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { dashboard } from './dashboard.ts';

const HEADER = '# Generated from rules.yaml by deploy/monitoring/generate.ts.\n';

interface RuleFile {
  groups: { name: string; rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}

const FOLDER = new URL('./', import.meta.url);

/** Returns the alerts, as Prometheus reads them. */
export const readRules = (): RuleFile => parse(readFileSync(new URL('rules.yaml', FOLDER), 'utf8')) as RuleFile;

/**
 * Returns what is made from `rules.yaml` and `dashboard.ts`, by file name: the alerts as an object of the Prometheus
 * Operator, and the dashboard for Grafana. `node deploy/monitoring/generate.ts` writes them.
 */
export function generateMonitoring(): Map<string, string> {
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'drover' },
    spec: readRules(),
  };
  return new Map([
    ['prometheusrule.yaml', HEADER + stringify(rule, { lineWidth: 0 })],
    ['dashboard.json', `${JSON.stringify(dashboard(), null, 2)}\n`],
  ]);
}

if (import.meta.main) for (const [name, text] of generateMonitoring()) writeFileSync(new URL(name, FOLDER), text);
