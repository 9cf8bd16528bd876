/** Units of Grafana that the dashboards use. */
export type PanelUnit = 'short' | 'ops' | 'reqps' | 's' | 'bytes' | 'percentunit' | 'bool_yes_no';

export type Query = {
  /** PromQL. `$__rate_interval` and the variables of the dashboard are Grafana's. */
  readonly expr: string;
  /** Template of the legend; '' shows all labels. */
  readonly legend: string;
};

export type Panel = {
  readonly title: string;
  /** Sentences that say what is normal, or what to do. */
  readonly description: string;
  readonly type: 'timeseries' | 'stat' | 'table';
  readonly unit: PanelUnit;
  readonly queries: readonly Query[];
  /** From this value on the panel is red. */
  readonly redFrom?: number;
  /** Below this value the panel is red. */
  readonly redBelow?: number;
};

export type Row = { readonly title: string; readonly panels: readonly Panel[] };

/** A list of values to choose from, all of them at first. */
export type Variable = { readonly name: string; readonly label: string; readonly query: string };

export type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
};

/** Version of Grafana's model of dashboards that is written: Grafana 10.2 and newer read it. */
const SCHEMA_VERSION = 39;
const GRID_WIDTH = 24;
const SIZES = {
  stat: { w: 4, h: 4 },
  timeseries: { w: 8, h: 8 },
  table: { w: 24, h: 9 },
} as const satisfies Record<Panel['type'], { w: number; h: number }>;

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts the chosen data source in.
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** The dashboard as Grafana imports and provisions it. */
export function grafanaModel({ uid, title, description, variables, rows }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ['svc'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: '',
    annotations: { list: [] },
    links: [],
    templating: { list: [datasourceVariable(), ...variables.map(variableModel)] },
    panels: laidOut(rows),
  };
}

function datasourceVariable(): object {
  return {
    name: 'datasource',
    label: 'Data source',
    type: 'datasource',
    query: 'prometheus',
    current: {},
    options: [],
    hide: 0,
    includeAll: false,
    multi: false,
    refresh: 1,
    regex: '',
  };
}

function variableModel({ name, label, query }: Variable): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: name },
    current: {},
    options: [],
    hide: 0,
    includeAll: true,
    allValue: '.*',
    multi: true,
    refresh: 2,
    regex: '',
    sort: 1,
  };
}

/** Places panels from left to right, and begins a new row when one has no room. */
function laidOut(rows: readonly Row[]): object[] {
  const models: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    models.push(rowModel(models.length + 1, title, y));
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of panels) {
      const { w, h } = SIZES[panel.type];
      if (x + w > GRID_WIDTH) {
        x = 0;
        y += lineHeight;
        lineHeight = 0;
      }
      models.push(panelModel(models.length + 1, panel, { x, y, w, h }));
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return models;
}

function rowModel(id: number, title: string, y: number): object {
  return { id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: GRID_WIDTH, h: 1 }, panels: [] };
}

function panelModel(id: number, panel: Panel, gridPos: object): object {
  const { type, title, description, unit, queries } = panel;
  return {
    id,
    type,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, thresholds: { mode: 'absolute', steps: stepsOf(panel) }, custom: {} },
      overrides: [],
    },
    options: OPTIONS[type],
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend === '' ? '__auto' : legend,
      ...(type === 'timeseries' ? { range: true } : { instant: true }),
      ...(type === 'table' ? { format: 'table' } : {}),
    })),
  };
}

const OPTIONS = {
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  stat: {
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'auto',
    orientation: 'auto',
    textMode: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  },
  table: { showHeader: true, cellHeight: 'sm' },
} as const satisfies Record<Panel['type'], object>;

function stepsOf({ redFrom, redBelow }: Panel): object[] {
  if (redBelow !== undefined) {
    return [
      { color: 'red', value: null },
      { color: 'green', value: redBelow },
    ];
  }
  const green = { color: 'green', value: null };
  return redFrom === undefined ? [green] : [green, { color: 'red', value: redFrom }];
}
