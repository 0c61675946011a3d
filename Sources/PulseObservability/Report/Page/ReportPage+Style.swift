// SPDX-License-Identifier: MIT

extension ReportPage {
    static let style = #"""
        :root {
          --page: #f6f7f9; --card: #ffffff; --text: #1b1f24; --dim: #5a6370; --line: #dde1e7; --accent: #2563eb;
          --good: #15803d; --note: #0e7490; --warn: #b45309; --bad: #b91c1c; --idle: #7b8494;
          --queued: #9aa3b0; --nameResolution: #0d9488; --connecting: #d97706; --securing: #9333ea; --sending: #0284c7; --waiting: #16a34a;
          --receiving: #2563eb; --stripe: #eef1f5;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #111418; --card: #1a1f26; --text: #e6e9ee; --dim: #9aa4b2; --line: #2d343e; --accent: #7aa2ff;
            --good: #4ade80; --note: #22d3ee; --warn: #fbbf24; --bad: #f87171; --idle: #8b95a5;
            --queued: #6b7482; --nameResolution: #2dd4bf; --connecting: #fbbf24; --securing: #c084fc; --sending: #38bdf8; --waiting: #4ade80;
            --receiving: #7aa2ff; --stripe: #20262e;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
        }
        header, main { max-width: 1180px; margin: 0 auto; padding: 0 16px; }
        header { padding-top: 20px; }
        h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; }
        h2 { font-size: 18px; margin: 28px 0 10px; }
        h3 { font-size: 14px; margin: 0 0 8px; color: var(--dim); font-weight: 600; }
        h3 small { font-weight: 400; }
        h4 { font-size: 13px; margin: 14px 0 4px; color: var(--dim); font-weight: 600; }
        #about { color: var(--dim); margin: 4px 0 16px; }
        #tiles { display: grid; grid-template-columns: repeat(8, minmax(0, 1fr)); gap: 10px; }
        .tile, .chart, .call, .event { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        .tile { padding: 10px 12px; }
        .tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .tile span { color: var(--dim); font-size: 13px; }
        #charts {
          display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 10px;
          margin-top: 10px;
        }
        .chart { padding: 12px; min-width: 0; }
        .chart.wide { grid-column: 1 / -1; }
        svg { display: block; width: 100%; height: auto; }
        .scroll { overflow-x: auto; }
        .scroll svg { min-width: 640px; }
        svg text { fill: var(--dim); font-size: 11px; }
        svg .axis { stroke: var(--line); stroke-width: 1; }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin-top: 6px; font-size: 12px; color: var(--dim); }
        .legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
        #controls { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 10px; }
        #controls input, #controls select, button {
          font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px;
          padding: 6px 10px; min-height: 36px;
        }
        #search { flex: 1 1 220px; min-width: 0; }
        #shown { color: var(--dim); font-size: 13px; }
        .call { margin-bottom: 6px; overflow: hidden; }
        .call > summary {
          display: grid; grid-template-columns: 62px 132px minmax(0, 1fr) 92px 112px 150px; gap: 10px; align-items: center;
          padding: 8px 12px; cursor: pointer; list-style: none;
        }
        .call > summary::-webkit-details-marker { display: none; }
        .call > summary:hover { background: var(--stripe); }
        .call .path { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .call .path small { color: var(--dim); margin-left: 8px; }
        .status { font-weight: 600; font-variant-numeric: tabular-nums; overflow: hidden; text-overflow: ellipsis; }
        .good { color: var(--good); } .note { color: var(--note); } .warn { color: var(--warn); }
        .bad { color: var(--bad); } .idle { color: var(--idle); }
        .number small { color: var(--dim); margin-left: 5px; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        .dim { color: var(--dim); }
        .strip { height: 12px; background: var(--stripe); border-radius: 3px; overflow: hidden; }
        .detail { padding: 4px 12px 14px; border-top: 1px solid var(--line); }
        .exchange { border: 1px solid var(--line); border-radius: 6px; margin-top: 10px; padding: 8px 10px; }
        .exchange > summary { cursor: pointer; overflow-wrap: anywhere; }
        dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 12px; margin: 8px 0 0; }
        dt { color: var(--dim); }
        dd { margin: 0; overflow-wrap: anywhere; }
        pre {
          margin: 0; padding: 8px; background: var(--stripe); border-radius: 6px; max-height: 320px; overflow: auto;
          white-space: pre-wrap; overflow-wrap: anywhere; font: 12px/1.45 ui-monospace, Menlo, Consolas, monospace;
        }
        .event { display: grid; grid-template-columns: 110px 130px minmax(0, 1fr); gap: 10px; padding: 5px 12px; }
        .event { border-radius: 0; border-bottom: 0; overflow-wrap: anywhere; }
        .event:first-child { border-radius: 8px 8px 0 0; }
        .event:last-child { border-bottom: 1px solid var(--line); border-radius: 0 0 8px 8px; }
        .empty { color: var(--dim); padding: 12px; }
        main { padding-bottom: 48px; }
        @media (max-width: 1100px) { #tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); } }
        @media (max-width: 700px) {
          #tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
          .call > summary { grid-template-columns: 52px minmax(0, 1fr) 112px; gap: 2px 8px; }
          .call > summary .path { grid-column: 1 / -1; grid-row: 2; white-space: normal; overflow-wrap: anywhere; }
          .call > summary .requests, .call > summary .strip { display: none; }
          .event { grid-template-columns: 84px minmax(0, 1fr); }
          .event .subject { grid-column: 1 / -1; }
          dl { grid-template-columns: minmax(0, 1fr); }
          dd { margin-bottom: 6px; }
        }
        @media print { #controls, #more { display: none; } }
        """#
}
