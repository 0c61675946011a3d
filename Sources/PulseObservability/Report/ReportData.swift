// SPDX-License-Identifier: MIT

import PulseCore

/// The data for the page's script. Points in time are milliseconds since 1970, durations are milliseconds; every number
/// is finite.
struct ReportData: Encodable {
    struct Call: Encodable {
        let id: String
        let method: String
        let path: String
        let route: String
        let host: String
        let trace: String?
        let start: Double
        /// Nil while the call is in progress.
        let latency: Double?
        /// Whether a program advances the clock of the durations.
        let isVirtual: Bool
        let status: Int?
        let origin: String?
        let error: Failure?
        let omitted: Int
        let marks: [Mark]
        let exchanges: [Exchange]
        let chart: Chart
    }

    /// The waterfall of a call. Starts and ends are fractions of its duration.
    struct Chart: Encodable {
        let duration: Double
        let lines: [Line]
    }

    struct Line: Encodable {
        let kind: String
        let title: String
        let detail: String
        let start: Double
        let end: Double
        let time: Double
        let phases: [Phase]
    }

    struct Failure: Encodable {
        let kind: String
        let message: String
    }

    struct Mark: Encodable {
        let kind: String
        let offset: Double
        let wait: Double?
        let detail: String?
    }

    struct Exchange: Encodable {
        let attempt: Int
        let hop: Int
        let offset: Double
        let duration: Double?
        let method: String
        let url: String
        let requestHeaders: [[String]]
        let requestBody: Body
        let status: Int?
        let origin: String?
        let responseHeaders: [[String]]
        let responseBody: Body?
        let error: Failure?
        let version: String?
        let address: String?
        let isReused: Bool?
        let curl: String
    }

    struct Body: Encodable {
        let text: String?
        let note: String?
    }

    struct Phase: Encodable {
        let kind: String
        let start: Double
        let end: Double
        let time: Double
    }

    struct Event: Encodable {
        let date: Double
        let kind: String
        let subject: String
    }

    let title: String
    let recordedCalls: Int
    let recordedEvents: Int
    let calls: [Call]
    let events: [Event]

    init(_ recording: PulseRecording, title: String) {
        self.title = title
        recordedCalls = recording.recordedCallCount
        recordedEvents = recording.recordedEventCount
        calls = recording.calls.map(Call.init)
        events = recording.events.map {
            Event(date: Self.milliseconds($0.date), kind: $0.kind.rawValue, subject: $0.subject)
        }
    }

    static func milliseconds(_ date: Date) -> Double {
        date.timeIntervalSince1970.finite * 1000
    }

    static func milliseconds(_ seconds: TimeInterval) -> Double {
        HARDocument.milliseconds(seconds)
    }
}

extension ReportData.Call {
    init(_ call: PulseRecording.Call) {
        var (origin, error): (String?, ReportData.Failure?) = (nil, nil)
        switch call.outcome {
        case .success(let response): origin = response.origin.rawValue
        case .failure(let failure): error = ReportData.Failure(failure)
        case nil: break
        }
        self.init(
            id: call.id.uuidString, method: call.method.rawValue, path: call.endpointPath, route: call.route,
            host: call.host, trace: call.traceID, start: ReportData.milliseconds(call.startedAt),
            latency: call.latency.map { ReportData.milliseconds($0) }, isVirtual: call.isInVirtualTime,
            status: call.statusCode, origin: origin, error: error, omitted: call.omittedExchangeCount,
            marks: call.marks.map { mark in
                ReportData.Mark(
                    kind: mark.kind.rawValue, offset: ReportData.milliseconds(mark.offset),
                    wait: mark.wait.map { ReportData.milliseconds($0) }, detail: mark.detail)
            },
            exchanges: call.exchanges.map(ReportData.Exchange.init), chart: ReportData.Chart(call.chart))
    }
}

extension ReportData.Chart {
    init(_ chart: WaterfallChart) {
        self.init(
            duration: ReportData.milliseconds(chart.duration),
            lines: chart.lines.map { line in
                ReportData.Line(
                    kind: line.kind.rawValue, title: line.title, detail: line.detail, start: line.bar.start,
                    end: line.bar.end, time: ReportData.milliseconds(line.time),
                    phases: line.phases.map {
                        ReportData.Phase(
                            kind: $0.phase.rawValue, start: $0.bar.start, end: $0.bar.end,
                            time: ReportData.milliseconds($0.duration))
                    })
            })
    }
}

extension ReportData.Exchange {
    init(_ exchange: PulseRecording.Exchange) {
        let response = exchange.response
        self.init(
            attempt: exchange.attempt, hop: exchange.hop, offset: ReportData.milliseconds(exchange.offset),
            duration: exchange.duration.map { ReportData.milliseconds($0) }, method: exchange.request.method,
            url: exchange.request.url, requestHeaders: exchange.request.headers.pairs,
            requestBody: ReportData.Body(exchange.request.body), status: response?.statusCode,
            origin: response?.origin.rawValue, responseHeaders: response?.headers.pairs ?? [],
            responseBody: response.map { ReportData.Body($0.body) },
            error: exchange.failure.map(ReportData.Failure.init),
            version: response?.timings?.networkProtocol, address: response?.timings?.remoteAddress,
            isReused: response?.timings?.isConnectionReused, curl: exchange.curlCommand)
    }
}

extension ReportData.Failure {
    init(_ error: PulseError.Summary) {
        self.init(kind: error.kind.rawValue, message: error.message)
    }
}

extension ReportData.Body {
    init(_ body: PulseRecording.Body) {
        self.init(text: body.text, note: body.note)
    }
}

extension HTTPHeaders {
    fileprivate var pairs: [[String]] { map { [$0.name, $0.value] } }
}
