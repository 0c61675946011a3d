// SPDX-License-Identifier: MIT

import PulseCore

extension EventStream {
    /// Reads an event stream in the task that iterates: it connects, waits and parses while that task waits.
    /// Deallocated with its iterator, so that leaving a loop ends the stream even if others retain it.
    final class Reader {
        private let stream: EventStream
        private let connection: EventConnection
        private var machine: StateMachine
        /// The next action; nil before the first event was requested.
        private var action: StateMachine.Action?
        private var parser: EventParser
        private var chunks: ByteStream.Iterator?
        /// The current connection, to attach to its events.
        private var source: ServerSentEvent.Connection?

        init(_ stream: EventStream) {
            self.stream = stream
            connection = stream.connection
            machine = StateMachine(connection.reconnect, connection.options)
            parser = EventParser(maxEventSize: connection.options.maxEventSize)
        }

        deinit {
            stream.close(.cancelled)
        }

        /// Returns the next event of the chunks read so far; nil if more are needed.
        func parsedEvent() throws -> ServerSentEvent? {
            do {
                try Task.checkCancellation()
                return try parse()
            } catch {
                return try end(error)
            }
        }

        func next() async throws -> ServerSentEvent? {
            do {
                return try await withTaskCancellationHandler {
                    try await nextEvent()
                } onCancel: { [stream] in
                    stream.cancel()
                }
            } catch {
                return try end(error)
            }
        }

        private func end(_ error: any Error) throws -> ServerSentEvent? {
            stream.close(PulseError(wrapping: error))
            // The first end determines the error: cancelled work may throw any error.
            if try stream.isClosed() { return nil }
            throw error
        }

        private func nextEvent() async throws -> ServerSentEvent? {
            while try !stream.isClosed() {
                switch action {
                case nil:
                    if let fault = connection.options.fault { throw PulseError.invalidRequest(reason: fault) }
                    try stream.register()
                    action = machine.start()
                case .connect(let attempt):
                    action = await connect(attempt: attempt)
                case .read:
                    if let event = try parse() { return event }
                    action = await read()
                case .wait(let seconds, let error):
                    try await wait(seconds, after: error)
                    action = machine.waited()
                case .finish(let error):
                    let response = source?.response
                    let request = response.map { PulseError.text(of: $0.request, maskedBy: $0.redaction) }
                    stream.close(error?.naming(request: request))
                }
            }
            return nil
        }

        private func parse() throws -> ServerSentEvent? {
            guard case .read = action else { return nil }
            while let output = try parser.next() {
                switch output {
                case .retry(let milliseconds):
                    machine.received(retry: milliseconds)
                case .event(var event):
                    machine.receivedEvent()
                    guard stream.note(lastEventID: event.id) else { return nil }
                    event.connection = source
                    if event.data != connection.options.sentinel { return event }
                    stream.close(nil)
                    return nil
                }
            }
            // The ID may have changed without an event.
            _ = stream.note(lastEventID: parser.lastEventID)
            return nil
        }

        // MARK: Actions

        private func connect(attempt: Int) async -> StateMachine.Action {
            let id = stream.lastEventID
            do {
                try stream.connecting(attempt: attempt)
                let call = try connection.connect(id)
                stream.connecting(by: call)
                let response = StreamedResponse(try await call.response(), connection.environment)
                if response.head.statusCode == 204 {
                    _ = try await response.bytes.collect(upTo: 0)
                    return .finish(nil)
                }
                try stream.opened(response)
                parser = EventParser(maxEventSize: connection.options.maxEventSize, lastEventID: id)
                chunks = response.bytes.makeAsyncIterator()
                source = ServerSentEvent.Connection(response.head)
                return machine.opened(at: connection.environment.clock.uptime)
            } catch {
                return ended(error)
            }
        }

        private func read() async -> StateMachine.Action {
            do {
                guard let chunk = try await chunks?.next() else { return ended(nil) }
                parser.append(chunk)
                return .read
            } catch {
                return ended(error)
            }
        }

        private func ended(_ error: (any Error)?) -> StateMachine.Action {
            chunks = nil
            let error = error.map { PulseError(wrapping: $0) }
            let (clock, randomness) = (connection.environment.clock, connection.environment.randomness)
            return machine.ended(
                error, at: clock.uptime, retryAfter: error?.retryAfter(now: clock.now), unit: randomness.unit())
        }

        private func wait(_ seconds: TimeInterval, after error: PulseError?) async throws {
            let task = Task { [environment = connection.environment] in
                await environment.wait(seconds)
            }
            if let asked = machine.refusedWait {
                connection.environment.warn(
                    "an event stream waits for \(seconds) s, though its server asks for \(asked) s")
            }
            try stream.waiting(in: task, seconds, after: error)
            await task.value
        }
    }
}
