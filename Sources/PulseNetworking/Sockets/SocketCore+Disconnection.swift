// SPDX-License-Identifier: MIT

import PulseCore

extension SocketCore {
    /// The data of an ended connection for its event.
    struct EndedLink: Sendable {
        let link: Link
        let end: SocketStateMachine.End
        /// The code and reason with which this side closes the socket, and below the error that caused it.
        let close: SocketClose?
        let closeError: PulseError?
        let hasSentClose: Bool
        let statistics: PulseSocket.Statistics
        let summary: NetworkEvent.CallSummary
    }

    /// Emits the event of an ended connection, before the state that results from it.
    func note(_ ended: EndedLink) {
        guard let events = environment.events, events.isActive else { return }
        let (close, time) = (ended.codeInForce, now)
        let (initial, final) = (ended.link.initial, ended.statistics)
        let event = NetworkEvent.SocketDisconnection(
            code: close.code, reason: close.reason, maskedBy: environment.redaction, endedBy: ended.side,
            error: ended.error.map { PulseError.Summary($0) }, duration: max(0, time - ended.link.openedAt),
            messagesSent: final.messagesSent - initial.messagesSent,
            messagesReceived: final.messagesReceived - initial.messagesReceived,
            bytesSent: final.bytesSent - initial.bytesSent, bytesReceived: final.bytesReceived - initial.bytesReceived,
            unconfirmed: final.unconfirmed)
        state.withLock { $0.pendingEvents.append(.socketDisconnected(ended.summary, event)) }
        publishEvents()
    }
}

extension SocketCore.EndedLink {
    /// The close code of the connection (RFC 6455, section 7.1.5); this side's, if the peer sent no close frame.
    fileprivate var codeInForce: SocketClose {
        if let received = link.closeReceived { return received }
        guard hasSentClose else { return SocketClose(code: 1006) }
        switch end {
        case .failed(let fault): return SocketClose(code: fault.code, reason: fault.reason)
        case .closedHere, .closedByPeer: return close ?? SocketClose(code: 1000)
        case .lost: return link.refusal ?? SocketClose(code: 1006)
        }
    }

    fileprivate var side: NetworkEvent.SocketDisconnection.Side? {
        switch end {
        case .closedByPeer: .server
        case .closedHere, .failed: .client
        case .lost: link.refusal != nil ? .client : nil
        }
    }

    fileprivate var error: PulseError? {
        switch end {
        case .closedByPeer: nil
        case .closedHere: closeError ?? (hasSentClose ? nil : link.failure)
        case .failed(let fault): .socketClosed(code: fault.code, reason: fault.reason)
        // The application closes the socket during the greeting.
        case .lost where link.refusal != nil && close != nil: closeError
        case .lost(let error): error
        }
    }
}
