// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled, .timeLimit(.minutes(15)))
struct CallAccountTests {
    @Test
    func nothingIsKnownOfACallBeforeAPluginSaysIt() {
        let context = PluginContext.mock()
        #expect(context.account == .unknown)
        #expect(context.call.account == .unknown)
    }

    @Test
    func theCallAndAllCopiesOfItsContextShareTheAccount() {
        let context = PluginContext.mock()
        context.with(attempt: 2).account = .known("ada")
        #expect(context.account == .known("ada"))
        #expect(context.call.account == .known("ada"))
        context.call.account = .unknown
        #expect(context.account == .unknown)
    }

    @Test
    func detachedWorkIsForTheAccountOfItsCall() {
        let context = PluginContext.mock()
        context.account = .known("ada")
        let detached = context.detached()
        #expect(detached.account == .known("ada"))
        detached.account = .none
        #expect(context.account == .known("ada"))
    }

    /// No account is an account that was asked for.
    @Test
    func noAccountIsNoUnknownAccount() {
        let context = PluginContext.mock()
        context.account = .none
        #expect(context.account == CallAccount.none)
        #expect(context.account != .unknown)
    }

    @Test
    func aCallWithoutAnAccountKeepsThatOfAnEarlierHop() {
        let context = PluginContext.mock()
        context.noteNoAccount()
        #expect(context.account == CallAccount.none)
        context.account = .known("ada")
        context.noteNoAccount()
        #expect(context.account == .known("ada"))
    }

    @Test
    func onlyAKnownAccountHasAnIdentifier() {
        #expect(CallAccount.unknown.identifier == nil)
        #expect(CallAccount.none.identifier == nil)
        #expect(CallAccount.known("ada").identifier == "ada")
    }

    @Test
    func anEmptyIdentifierCountsAsNone() {
        #expect(CallAccount(provided: nil) == CallAccount.none)
        #expect(CallAccount(provided: "") == CallAccount.none)
        #expect(CallAccount(provided: "ada") == .known("ada"))
    }
}
